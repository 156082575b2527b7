import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { isClientSecret } from '../../store/clients.ts'
import type { ClientRow, SecretHash } from '../../store/clients.ts'
import type { Form, HttpRequest } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/realms.ts'

type AuthenticationRequest = Pick<HttpRequest, 'realm' | 'authorization' | 'form'>

/** What a request presents. Each part of HTTP Basic has one or two readings. */
interface Credentials {
  /** The form-url-decoded reading (RFC 6749 section 2.3.1) first, then the raw one, which some clients send. */
  ids: string[]
  secrets: string[]
}

/** The methods of OpenID Connect Core section 9, in the order in which a request is searched for them. */
const METHODS = {
  client_secret_basic: ({ realm, authorization, form }: AuthenticationRequest): Credentials | undefined => {
    const basic = parseBasicCredentials(authorization)
    if (basic === 'malformed') throw invalidClient(realm, true, 'malformed Basic header')
    if (basic && !agrees(basic, form)) {
      throw new OAuthError('invalid_request', 'The client credentials of header and form differ')
    }
    // An empty secret is none.
    return basic && { ids: basic.ids, secrets: basic.secrets.filter((secret) => secret !== '') }
  },
  client_secret_post: ({ form }: AuthenticationRequest): Credentials | undefined =>
    form.client_secret === undefined ? undefined : { ids: present(form.client_id), secrets: [form.client_secret] },
  none: ({ form }: AuthenticationRequest): Credentials => ({ ids: present(form.client_id), secrets: [] }),
}

/** What discovery lists. `none` is for public clients alone. */
export const CLIENT_AUTHENTICATION_METHODS: readonly string[] = Object.keys(METHODS)

/**
 * The client that calls, RFC 6749 section 2.3.1. A public client names itself and has no secret.
 * @throws OAuthError 401 `invalid_client`, the same for every cause; 400 when Basic and form differ
 */
export async function authenticateClient(request: AuthenticationRequest, now: Date): Promise<ClientRow> {
  const { realm } = request
  const basic = METHODS.client_secret_basic(request)
  const { ids, secrets } = basic ?? METHODS.client_secret_post(request) ?? METHODS.none(request)
  const isBasic = basic !== undefined

  const client = await findOne(realm, ids)
  // Compared for unknown clients as well, so that the time of the answer does not tell which clients exist.
  const match = matchSecrets(client, secrets, now)
  if (!client) throw invalidClient(realm, isBasic, ids.length === 0 ? 'no client id' : 'unknown client')
  const cause = refusalOf(client, secrets.length > 0, match)
  if (cause !== undefined) throw invalidClient(realm, isBasic, cause, client.clientId)
  return client
}

function present(text: string | undefined): string[] {
  return text === undefined ? [] : [text]
}

/** Why the client may not call; undefined when it may. */
function refusalOf(client: ClientRow, hasSecret: boolean, match: SecretMatch): string | undefined {
  if (!client.enabled) return 'client disabled'
  if (client.type === 'Public') return hasSecret ? 'public client with a secret' : undefined
  if (!hasSecret) return 'no client secret'
  return match === 'valid' ? undefined : `${match} client secret`
}

function agrees({ ids, secrets }: Credentials, form: Form): boolean {
  if (form.client_id !== undefined && !ids.includes(form.client_id)) return false
  return form.client_secret === undefined || secrets.includes(form.client_secret)
}

const CLIENT_ID = /^[A-Za-z0-9._-]{1,255}$/

async function findOne(realm: ServedRealm, ids: string[]): Promise<ClientRow | undefined> {
  for (const id of ids) {
    const client = CLIENT_ID.test(id) ? await realm.findClient(id) : undefined
    if (client) return client
  }
  return undefined
}

/** Has no secret. Unknown clients are compared with it, so that they take the same time. */
const NO_SECRET: SecretHash = { salt: randomBytes(16), hash: randomBytes(32) }

type SecretMatch = 'valid' | 'expired' | 'wrong'

/** Makes every comparison in any case, so that the time does not depend on the secrets. */
function matchSecrets(client: ClientRow | undefined, secrets: string[], now: Date): SecretMatch {
  const current = secretHash(client?.secretSalt, client?.secretHash)
  const previous = secretHash(client?.previousSecretSalt, client?.previousSecretHash)
  const isPreviousValid = client?.previousValidUntil != null && now < client.previousValidUntil
  const matches = (secrets.length > 0 ? secrets : ['']).map((secret): SecretMatch => {
    const isCurrent = isClientSecret(secret, current)
    const isPrevious = isClientSecret(secret, previous)
    if (isCurrent || (isPrevious && isPreviousValid)) return 'valid'
    return isPrevious ? 'expired' : 'wrong'
  })
  return matches.find((match) => match === 'valid') ?? matches.find((match) => match === 'expired') ?? 'wrong'
}

function secretHash(salt: Buffer | null | undefined, hash: Buffer | null | undefined): SecretHash {
  return salt && hash ? { salt, hash } : NO_SECRET
}

function invalidClient(realm: ServedRealm, isBasic: boolean, cause: string, clientId?: string): OAuthError {
  return new OAuthError('invalid_client', 'Invalid client or Invalid client credentials', {
    headers: isBasic ? { 'WWW-Authenticate': `Basic realm="${realm.name}"` } : {},
    cause,
    ...(clientId !== undefined && { context: { clientId } }),
  })
}

/** RFC 7617. Undefined when the header is of another scheme or absent, 'malformed' when it names no client. */
function parseBasicCredentials(authorization: string | undefined): Credentials | 'malformed' | undefined {
  if (authorization === undefined || !/^basic(?:\s|$)/i.test(authorization)) return undefined
  const text = decodeBase64(authorization.slice(5).trim())
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon < 1 || hasControls(text)) return 'malformed'
  return { ids: readings(text.slice(0, colon)), secrets: readings(text.slice(colon + 1)) }
}

function decodeBase64(encoded: string): string | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') !== encoded.replace(/=+$/, '')) return undefined
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined
}

function hasControls(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- RFC 7617 section 2: neither part may hold control characters
  return /[\u0000-\u001f\u007f]/.test(text)
}

function readings(raw: string): string[] {
  if (!/[%+]/.test(raw)) return [raw]
  try {
    const decoded = decodeURIComponent(raw.replaceAll('+', ' '))
    return decoded === raw ? [raw] : [decoded, raw]
  } catch {
    return [raw]
  }
}
