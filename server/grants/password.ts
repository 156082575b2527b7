import { randomUUID } from 'node:crypto'
import { findEffectiveGrants } from '../../store/live_sessions.ts'
import { startSession } from '../../store/sessions.ts'
import type { UserRow } from '../../store/users.ts'
import type { Deps, LoginLimits } from '../deps.ts'
import type { Form } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { addressKey } from '../passwords/rate_limit.ts'
import type { CountedLogin } from '../passwords/rate_limit.ts'
import { rolesNow } from '../tokens/roles.ts'
import { grantedScope, requestedScope } from '../tokens/scope.ts'
import { idleEnd, refreshKid, signTokens } from '../tokens/token_response.ts'
import type { TokenResponse } from '../tokens/token_response.ts'
import type { Grant, GrantRequest } from './grant.ts'
import { badCredentials, provePassword } from '../passwords/prove_password.ts'
import type { Credentials } from '../passwords/prove_password.ts'

const MAX_USERNAME_LENGTH = 255
const MAX_PASSWORD_LENGTH = 1024

/** RFC 6749 section 4.3: a user's name and password for the first tokens of a new session. */
export const passwordGrant: Grant = {
  grantType: 'password',

  async handle(request, deps) {
    const credentials = readCredentials(request.form)
    const requested = requestedScope(request.form.scope, request.client.settings)
    const login = countLogin(request, deps.loginLimits, deps.now())
    try {
      if (isOverlong(credentials)) throw badCredentials()
      const user = await provePassword(request.realm, credentials, deps)
      if (!user.enabled) throw new OAuthError('invalid_grant', 'Account disabled')
      const response = await logIn(user, requested, request, deps)
      login.takeBack()
      return response
    } catch (error) {
      // What was not judged, such as a login while Postgres is away, is nobody's failure.
      if (!(error instanceof OAuthError) || error.status !== 401) login.takeBack()
      throw error
    }
  },
}

function readCredentials({ username, password }: Form): Credentials {
  if (username === undefined) throw new OAuthError('invalid_request', 'Missing parameter: username')
  if (password === undefined) throw new OAuthError('invalid_request', 'Missing parameter: password')
  return { username, password }
}

/** Such a password is not hashed: the time it takes says nothing that its sender does not know. */
function isOverlong({ username, password }: Credentials): boolean {
  return username.length > MAX_USERNAME_LENGTH || password.length > MAX_PASSWORD_LENGTH
}

/** A confidential client has proven who it is, and has many users behind one address. */
function countLogin({ client, address }: GrantRequest, limits: LoginLimits, now: Date): CountedLogin {
  if (client.type === 'Confidential') return limits.byClient.begin(`${client.realm} ${client.clientId}`, now)
  return limits.byAddress.begin(addressKey(address), now)
}

/** Signs first and writes one row then: a failure leaves nothing behind. */
async function logIn(
  user: UserRow,
  requested: string[],
  { realm, client }: GrantRequest,
  { pool, now }: Deps,
): Promise<TokenResponse> {
  const at = now()
  const grantedRoles = await findEffectiveGrants(pool, realm.name, user.subject, at)
  const roles = rolesNow({ grantedRoles }, realm, client)
  const scope = grantedScope(requested, client.settings, roles)

  const expiresAt = new Date(at.getTime() + realm.row.tokens.sessionLifetimeSeconds * 1000)
  const session = {
    sid: randomUUID(),
    authTime: at,
    expiresAt,
    idleExpiresAt: idleEnd(realm, expiresAt, at),
    refreshKid: refreshKid(realm),
  }
  const issued = { ...session, generation: 0, rotatedAt: at }
  const response = signTokens(realm, client, user, issued, { scope, roles }, at)

  const isStarted = await startSession(
    pool,
    {
      ...session,
      realm: realm.name,
      clientId: client.clientId,
      subject: user.subject,
      requestedScope: requested.join(' '),
    },
    { passwordSource: user.passwordSource, clientUid: client.resourceUid },
  )
  // The password was changed, or the user or the client removed, while this one waited for its turn.
  if (!isStarted) throw badCredentials()
  return response
}
