import { randomUUID } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { findEffectiveGrants } from '../../store/sessions/live_sessions.ts'
import { clearLoginFailures } from '../../store/sessions/login_failures.ts'
import { startSession } from '../../store/sessions/sessions.ts'
import { hashParameters } from '../../store/password_hash.ts'
import { usernameDigest } from '../../store/username.ts'
import { findUserByUsername, renewPasswordHash } from '../../store/users.ts'
import type { UserRow } from '../../store/users.ts'
import type { Deps } from '../deps.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { PasswordCheck } from '../passwords/passwords.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { renewal } from '../tokens/issue_tokens.ts'
import { requestedScope } from '../tokens/scope.ts'
import type { Grant, GrantRequest } from './grant.ts'

type PasswordRequest = GrantRequest<'username' | 'password'>

const MAX_USERNAME_LENGTH = 255
const MAX_PASSWORD_LENGTH = 1024

/** RFC 6749 section 4.3: a user's name and password for the first tokens of a new session. */
export const passwordGrant: Grant<'username' | 'password'> = {
  grantType: 'password',
  parameters: { username: 'Missing parameter: username', password: 'Missing parameter: password' },

  async handle(request, deps) {
    const { realm, client } = request
    const requested = requestedScope(request.scope, client.settings)
    const user = await countFailure(request, deps, () => provePassword(request, deps))

    const issuedAt = deps.now()
    const grantedRoles = await findEffectiveGrants(deps.pool, realm.name, user.subject, issuedAt)
    const expiresAt = new Date(issuedAt.getTime() + realm.row.tokens.sessionLifetimeSeconds * 1000)
    const session = { sid: randomUUID(), authTime: issuedAt, expiresAt, ...renewal(realm, expiresAt, issuedAt) }
    const response = await request.issue({
      user,
      grantedRoles,
      requestedScope: requested,
      session: { ...session, generation: 0, rotatedAt: issuedAt },
      issuedAt,
    })

    const isStarted = await startSession(
      deps.pool,
      {
        ...session,
        realm: realm.name,
        clientId: client.clientId,
        subject: user.subject,
        requestedScope: requested.join(' '),
      },
      { passwordSource: user.passwordSource, clientUid: client.resourceUid },
    )
    if (!isStarted) throw badCredentials('password, user or client changed during the login', user)
    return response
  },
}

/**
 * Counts a login as failed, by address or by client, before it is checked, so that a thousand concurrent logins do not
 * all pass the limit. A success takes the count back; so does an error other than 401, such as Postgres being away.
 * @throws OAuthError 429
 */
async function countFailure<Result>(
  { client, address }: PasswordRequest,
  { loginLimits }: Deps,
  login: () => Promise<Result>,
): Promise<Result> {
  // An authenticated confidential client has many users behind one address.
  const [limiter, key] =
    client.type === 'Confidential'
      ? [loginLimits.byClient, `${client.realm} ${client.clientId}`]
      : [loginLimits.byAddress, addressKey(address)]
  const seconds = limiter.secondsToWait(key)
  if (seconds > 0) {
    throw new OAuthError('rate_limited', 'Too many failed logins', { headers: { 'Retry-After': String(seconds) } })
  }
  const takeBack = limiter.count(key)
  try {
    const result = await login()
    takeBack()
    return result
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status !== 401) takeBack()
    throw error
  }
}

/** The key of an address in the limit of failed logins: an IPv6 caller usually has a whole /64. */
export function addressKey(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? []
  const groups = head.split(':').filter(Boolean)
  if (tail !== undefined) {
    const rest = tail.split(':').filter(Boolean)
    const dotted = rest.at(-1)?.includes('.') ? 1 : 0
    while (groups.length + rest.length + dotted < 8) groups.push('0')
    groups.push(...rest)
  }
  return `${groups.slice(0, 4).join(':')}::/64`
}

/**
 * The enabled user whose name and password these are. Unknown names, wrong passwords, locked names and users without a
 * password take the same time and get the same answer.
 * @throws OAuthError 401 `invalid_grant`, 400 for a disabled user, 503 when too many hashes wait
 */
async function provePassword({ realm, parameters }: PasswordRequest, deps: Deps): Promise<UserRow> {
  const { username, password } = parameters
  // Not hashed: the caller knows the length, so the shorter time tells nothing new.
  if (username.length > MAX_USERNAME_LENGTH || password.length > MAX_PASSWORD_LENGTH) {
    throw badCredentials('over-long user name or password')
  }
  // Reserved first: a login that is refused for lack of time must not count as a failure of the name.
  const check = deps.passwords.enter(realm.name, realm.row.passwordHashing)
  try {
    const user = await checkPassword(check, realm, parameters, deps)
    renewHash(user, password, realm, deps)
    if (user.enabled) return user
    throw new OAuthError('invalid_grant', 'Account disabled', {
      cause: 'user disabled',
      context: { subject: user.subject },
    })
  } finally {
    check.leave()
  }
}

async function checkPassword(
  check: PasswordCheck,
  { row }: ServedRealm,
  { username, password }: PasswordRequest['parameters'],
  { pool, now, countLoginAttempt }: Deps,
): Promise<UserRow> {
  const { realm, bruteForce } = row
  const user = await findUserByUsername(pool, realm, username)
  // Counted in parallel with the hash, and committed before the answer. Counting takes longer for a name that is not
  // locked, and before the hash that difference could be measured. Counted only after the user was read: a login that
  // fails because Postgres is away is no failure of the name.
  const [isLocked, isRight] = await Promise.all([
    bruteForce.enabled &&
      countLoginAttempt({ realm, digest: usernameDigest(username), settings: bruteForce, now: now() }),
    check.verify(user?.passwordHash, password),
  ])
  if (!user) throw badCredentials(isLocked ? 'unknown user, name locked' : 'unknown user')
  if (isLocked) throw badCredentials('user locked', user)
  if (!isRight) throw badCredentials(refusalOf(user), user)
  if (bruteForce.enabled) await clearLoginFailures(pool, realm, username)
  return user
}

function refusalOf({ passwordHash }: UserRow): string {
  if (passwordHash === null) return 'user has no password'
  return hashParameters(passwordHash) ? 'wrong password' : 'password hash damaged'
}

/** Rehashes with the realm's present parameters. The answer does not wait for it; the next login repeats a failure. */
function renewHash(
  { realm, subject, passwordHash }: UserRow,
  password: string,
  { row }: ServedRealm,
  { pool, log, passwords }: Deps,
): void {
  if (passwordHash === null) return
  const renew = async (): Promise<void> => {
    const renewed = await passwords.renew(realm, passwordHash, password, row.passwordHashing)
    if (renewed !== undefined) await renewPasswordHash(pool, { realm, subject, passwordHash }, renewed)
  }
  renew().catch((error: unknown) => log.warn({ err: error, realm, subject }, 'a password hash was not renewed'))
}

/** One text for every cause, and no challenge: with one, client libraries hide the error. */
function badCredentials(cause: string, user?: UserRow): OAuthError {
  return new OAuthError('invalid_grant', 'Invalid user credentials', {
    status: 401,
    cause,
    ...(user && { context: { subject: user.subject } }),
  })
}
