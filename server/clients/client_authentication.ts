import { randomBytes } from 'node:crypto'
import { isClientSecret } from '../../store/client_secret.ts'
import type { SecretHash } from '../../store/client_secret.ts'
import type { ClientRow } from '../../store/clients.ts'
import { parseBasicCredentials } from './basic_credentials.ts'
import type { BasicCredentials } from './basic_credentials.ts'
import type { Deps } from '../deps.ts'
import type { Form, HttpRequest } from '../http/http.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/served_realm.ts'

type AuthenticationRequest = Pick<HttpRequest, 'realm' | 'authorization' | 'form' | 'corsClient'>

/**
 * The client that calls, RFC 6749 section 2.3.1: `client_id` and `client_secret` in the form, or HTTP Basic. A public
 * client names itself and has no secret. From here on the client's origins get CORS headers.
 * @throws OAuthError 401 `invalid_client`, one and the same for every reason; 400 when Basic and form differ
 */
export async function authenticateClient(
  request: AuthenticationRequest,
  { now }: Pick<Deps, 'now'>,
): Promise<ClientRow> {
  const { realm, form } = request
  const basic = parseBasicCredentials(request.authorization)
  const isBasic = basic !== undefined
  if (basic === 'malformed') throw invalidClient(realm, isBasic, 'malformed Basic header')
  if (basic && !agrees(basic, form)) {
    throw new OAuthError('invalid_request', 'The client credentials of header and form differ')
  }
  const ids = basic?.ids ?? (form.client_id === undefined ? [] : [form.client_id])
  // An empty secret is none, in a header as in a form.
  const secrets = (basic?.secrets ?? [form.client_secret ?? '']).filter((secret) => secret !== '')

  const client = await findOne(realm, ids)
  // Compared for unknown clients as well, so that the time of the answer does not tell which clients exist.
  const match = matchSecrets(client, secrets, now())
  if (!client) throw invalidClient(realm, isBasic, ids.length === 0 ? 'no client id' : 'unknown client')
  const cause = refusalOf(client, secrets.length > 0, match)
  if (cause !== undefined) throw invalidClient(realm, isBasic, cause, client.clientId)
  request.corsClient = client
  return client
}

/** Why the client may not call; undefined when it may. */
function refusalOf(client: ClientRow, hasSecret: boolean, match: SecretMatch): string | undefined {
  if (!client.enabled) return 'client disabled'
  if (client.type === 'Public') return hasSecret ? 'public client with a secret' : undefined
  if (!hasSecret) return 'no client secret'
  return match === 'valid' ? undefined : `${match} client secret`
}

function agrees({ ids, secrets }: BasicCredentials, form: Form): boolean {
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

/** Makes every comparison, whatever the ones before found, so that the time does not depend on the secrets. */
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
