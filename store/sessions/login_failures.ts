import type { Db } from '../db.ts'
import type { BruteForceSettings } from '../realms.ts'
import { usernameDigest } from '../username.ts'

/** One attempt to log in with a name, whether or not it exists. */
export interface LoginAttempt {
  realm: string
  /** `usernameDigest` of the name. */
  digest: Buffer
  settings: BruteForceSettings
  now: Date
}

/** Integer division is the floor of the formula. Below the first threshold there is no lock. */
const lockedUntil = (failures: string): string =>
  `case when ${failures} >= w.max_failures
        then w.now + make_interval(secs => least(w.increment * (${failures} / w.max_failures), w.max_wait)) end`

/**
 * Counts failures without waiting for the result of the passwords, so that a hundred racing guesses count as a hundred:
 * any number in one statement, no two of one name. Wait = increment × floor(failures / maxFailures), capped. An attempt
 * while locked does not count. Returns, in their order, whether each name is locked; names without a user are counted the
 * same way.
 */
export async function countLoginAttempts(db: Db, attempts: readonly LoginAttempt[]): Promise<boolean[]> {
  // The order of the locks is fixed, so two statements that share names cannot deadlock.
  const { rows } = await db.query<{ realm: string; digest: Buffer }>({
    name: 'count_login_attempts',
    text: `
      with wanted as (
        select *
          from unnest($1::text[], $2::bytea[], $3::timestamptz[], $4::integer[], $5::integer[], $6::integer[], $7::integer[])
               as w (realm, digest, now, max_failures, increment, max_wait, reset)
      )
      insert into login_failures as f (realm, username_digest, failures, last_failure_at, locked_until)
      select w.realm, w.digest, 1, w.now, ${lockedUntil('1')} from wanted w order by w.realm, w.digest
      on conflict on constraint login_failures_pkey do update
         set (failures, last_failure_at, locked_until) = (
               select n.failures, w.now, ${lockedUntil('n.failures')}
                 from wanted w,
              lateral (select case when f.last_failure_at <= w.now - make_interval(secs => w.reset) then 1
                                   else f.failures + 1 end as failures) n
                where w.realm = f.realm and w.digest = f.username_digest)
       where f.locked_until is null or f.locked_until <= excluded.last_failure_at
      returning f.realm, f.username_digest as digest`,
    values: [
      attempts.map(({ realm }) => realm),
      attempts.map(({ digest }) => digest),
      attempts.map(({ now }) => now),
      attempts.map(({ settings }) => settings.maxFailures),
      attempts.map(({ settings }) => settings.waitIncrementSeconds),
      attempts.map(({ settings }) => settings.maxWaitSeconds),
      attempts.map(({ settings }) => settings.failureResetSeconds),
    ],
  })
  const counted = new Set(rows.map(loginAttemptKey))
  return attempts.map((attempt) => !counted.has(loginAttemptKey(attempt)))
}

/** Attempts with the same key are of one name. */
export function loginAttemptKey({ realm, digest }: Pick<LoginAttempt, 'realm' | 'digest'>): string {
  return `${realm} ${digest.toString('base64')}`
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
