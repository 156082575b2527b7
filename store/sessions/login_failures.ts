import type { Db } from '../db.ts'
import type { BruteForceSettings } from '../realms.ts'
import { usernameDigest } from '../username.ts'

const IS_RESET = `f.last_failure_at <= $3::timestamptz - make_interval(secs => $7::float8)`

/** Integer division is the floor of the formula. Below the first threshold there is no lock. */
const lockedUntil = (failures: string): string =>
  `case when ${failures} >= $4::integer
        then $3::timestamptz + make_interval(secs => least($5::integer * (${failures} / $4::integer), $6::integer)) end`

/**
 * Counts a failure without waiting for the result of the password, so that a hundred racing guesses count as a hundred.
 * Wait = increment × floor(failures / maxFailures), capped. An attempt while locked does not count. Returns whether the
 * name is locked; names without a user are counted the same way.
 */
export async function countLoginAttempt(
  db: Db,
  realm: string,
  username: string,
  settings: BruteForceSettings,
  now: Date,
): Promise<{ locked: boolean }> {
  const { rowCount } = await db.query({
    name: 'count_login_attempt',
    text: `
      insert into login_failures as f (realm, username_digest, failures, last_failure_at, locked_until)
      values ($1, $2, 1, $3, ${lockedUntil('1')})
      on conflict on constraint login_failures_pkey do update
         set failures = case when ${IS_RESET} then 1 else f.failures + 1 end,
             last_failure_at = $3,
             locked_until = case when ${IS_RESET} then ${lockedUntil('1')} else ${lockedUntil('(f.failures + 1)')} end
       where f.locked_until is null or f.locked_until <= $3`,
    values: [
      realm,
      usernameDigest(username),
      now,
      settings.maxFailures,
      settings.waitIncrementSeconds,
      settings.maxWaitSeconds,
      settings.failureResetSeconds,
    ],
  })
  return { locked: rowCount === 0 }
}

/** A successful login removes its own failure and all before it. */
export async function clearLoginFailures(db: Db, realm: string, username: string): Promise<void> {
  await db.query({
    name: 'clear_login_failures',
    text: 'delete from login_failures where realm = $1 and username_digest = $2',
    values: [realm, usernameDigest(username)],
  })
}

/** Deletes counters whose reset time is over and that lock no name. */
export async function sweepLoginFailures(db: Db, now: Date, limit = 1_000): Promise<number> {
  // The shortest reset time of all realms bounds the part of the index that is read.
  const { rowCount } = await db.query(
    `delete from login_failures l
      using (select f.realm, f.username_digest
               from login_failures f left join realms r on r.realm = f.realm
              where f.last_failure_at <= $1::timestamptz - make_interval(secs =>
                      (select least(min((brute_force ->> 'failureResetSeconds')::integer), 43200) from realms))
                and f.last_failure_at <= $1::timestamptz
                    - make_interval(secs => coalesce((r.brute_force ->> 'failureResetSeconds')::integer, 43200))
                and (f.locked_until is null or f.locked_until <= $1)
              order by f.last_failure_at limit $2 for update of f skip locked) due
      where l.realm = due.realm and l.username_digest = due.username_digest`,
    [now, limit],
  )
  return rowCount ?? 0
}
