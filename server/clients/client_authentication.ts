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
  if (basic === 'malformed') throw invalidClient(realm, true)
  if (basic && !agrees(basic, form)) {
    throw new OAuthError('invalid_request', 'The client credentials of header and form differ')
  }
  const ids = basic?.ids ?? (form.client_id === undefined ? [] : [form.client_id])
  // An empty secret is none, in a header as in a form.
  const secrets = (basic?.secrets ?? [form.client_secret ?? '']).filter((secret) => secret !== '')

  const client = await findOne(realm, ids)
  const isRight = secretFits(client, secrets, now())
  if (!client?.enabled) throw invalidClient(realm, basic !== undefined)
  if (client.type === 'Public' ? secrets.length > 0 : !isRight) throw invalidClient(realm, basic !== undefined)
  request.corsClient = client
  return client
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

/** Nobody's: what unknown clients are compared with, so that they take the same time. */
const NO_SECRET: SecretHash = { salt: randomBytes(16), hash: randomBytes(32) }

function secretFits(client: ClientRow | undefined, secrets: string[], now: Date): boolean {
  const current = secretHash(client?.secretSalt, client?.secretHash)
  const previousCounts = client?.previousValidUntil != null && now < client.previousValidUntil
  const previous = previousCounts ? secretHash(client.previousSecretSalt, client.previousSecretHash) : NO_SECRET
  // Every comparison is made, whatever the one before it said.
  const fits = (secrets.length > 0 ? secrets : ['']).map((secret) => {
    const isCurrent = isClientSecret(secret, current)
    return isClientSecret(secret, previous) || isCurrent
  })
  return secrets.length > 0 && fits.includes(true)
}

function secretHash(salt: Buffer | null | undefined, hash: Buffer | null | undefined): SecretHash {
  return salt && hash ? { salt, hash } : NO_SECRET
}

function invalidClient(realm: ServedRealm, isBasic: boolean): OAuthError {
  return new OAuthError('invalid_client', 'Invalid client or Invalid client credentials', {
    headers: isBasic ? { 'WWW-Authenticate': `Basic realm="${realm.name}"` } : {},
  })
}
