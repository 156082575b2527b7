import { clearLoginFailures, countLoginAttempt } from '../../store/login_failures.ts'
import { findUserByUsername, renewPasswordHash } from '../../store/users.ts'
import type { UserRow } from '../../store/users.ts'
import type { Deps } from '../deps.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { PasswordCheck } from './passwords.ts'
import type { ServedRealm } from '../realms/realms.ts'

export interface Credentials {
  username: string
  password: string
}

type ProofDeps = Pick<Deps, 'pool' | 'now' | 'log' | 'passwords'>

/**
 * The user whose name and password these are, enabled or not. Unknown names, wrong passwords, locked names and users
 * without a password take the same time and get the same answer.
 * @throws OAuthError 401 `invalid_grant`; 503 when too much waits
 */
export async function provePassword(realm: ServedRealm, credentials: Credentials, deps: ProofDeps): Promise<UserRow> {
  // A place in the queue comes first: a login that is not served must not count as a failure.
  const check = deps.passwords.enter(realm.row.passwordHashing)
  try {
    const user = await judge(check, realm, credentials, deps)
    renewHash(user, credentials, realm, deps)
    return user
  } finally {
    check.leave()
  }
}

async function judge(
  check: PasswordCheck,
  { row }: ServedRealm,
  { username, password }: Credentials,
  { pool, now }: ProofDeps,
): Promise<UserRow> {
  const user = await findUserByUsername(pool, row.realm, username)
  // The attempt counts as a failure, and nothing is answered before that is committed. It is counted beside the hash,
  // not before it: counting takes another time for a locked name, and alone that could be measured. Nor is it counted
  // before the user was found: what Postgres kept from being judged is nobody's failure.
  const [isLocked, isRight] = await Promise.all([
    row.bruteForce.enabled && countLoginAttempt(pool, row.realm, username, row.bruteForce, now()).then(isRefused),
    check.verify(user?.passwordHash, password),
  ])
  if (isLocked || !user || !isRight) throw badCredentials()
  if (row.bruteForce.enabled) await clearLoginFailures(pool, row.realm, username)
  return user
}

function isRefused({ locked }: { locked: boolean }): boolean {
  return locked
}

/** Beside the answer, which does not wait for it; when it fails, the next login tries again. */
function renewHash(
  user: UserRow,
  { password }: Credentials,
  { row }: ServedRealm,
  { pool, log, passwords }: ProofDeps,
) {
  const { realm, subject, passwordHash } = user
  if (passwordHash === null) return
  const renew = async (): Promise<void> => {
    const renewed = await passwords.renew(passwordHash, password, row.passwordHashing)
    if (renewed !== undefined) await renewPasswordHash(pool, { realm, subject, passwordHash }, renewed)
  }
  renew().catch((error: unknown) => log.warn({ err: error, realm, subject }, 'a password hash was not renewed'))
}

/** One text for every reason, and never a challenge: a client library would hide the error behind it. */
export function badCredentials(): OAuthError {
  return new OAuthError('invalid_grant', 'Invalid user credentials', { status: 401 })
}
