import type { Db } from '../db.ts'
import { COVERED_BY_END } from './session_ends.ts'

/** One presented refresh token, and its successor. */
export interface Rotation {
  realm: string
  sid: string
  clientId: string
  /** The generation that the presented token carries. */
  generation: number
  now: Date
  graceSeconds: number
  successorKid: string
  successorIdleExpiresAt: Date
}

/** The current refresh token of a session: after this rotation, or after the former one. */
export interface Rotated {
  outcome: 'rotated' | 'repeated'
  /** Number of the token in its session, from 0. */
  generation: number
  /** The key that signs the token. */
  refreshKid: string
  rotatedAt: Date
  idleExpiresAt: Date
  expiresAt: Date
}

export interface RotationRefused {
  outcome: 'absent' | 'ended' | 'expired' | 'reused'
}

/**
 * Rotates refresh tokens, RFC 9700 section 4.14.2: any number in one statement, no two of one session; the outcomes have
 * their order. Check and rotation of a session are one decision on its locked row, so of racing calls with one token
 * exactly one is 'rotated'. Within the grace the generation just before the current one is 'repeated' (the same
 * successor); anything older, or later than that, is 'reused', and the session ends.
 */
export async function rotateSessions(db: Db, rotations: Rotation[]): Promise<(Rotated | RotationRefused)[]> {
  // `old` locks the rows and sees their newest versions, so no other transaction changes them before the update. The
  // order of the locks is fixed, so two statements that share sessions cannot deadlock.
  const { rows } = await db.query<RotationRow>({
    name: 'rotate_sessions',
    text: `
      with wanted as (
        select *
          from unnest($1::text[], $2::uuid[], $3::text[], $4::integer[], $5::timestamptz[], $6::integer[], $7::text[],
                      $8::timestamptz[])
               with ordinality as w (realm, sid, client_id, generation, now, grace, successor_kid,
                                     successor_idle_expires_at, ord)
      ), old as (
        select w.ord, w.now, w.successor_kid, w.successor_idle_expires_at,
               s.realm, s.sid, s.generation, s.refresh_kid, s.rotated_at, s.idle_expires_at, s.expires_at,
               case
                 when s.client_id <> w.client_id then 'absent'
                 when s.ended_at is not null or ${COVERED_BY_END('s')} then 'ended'
                 when s.expires_at <= w.now then 'expired'
                 when s.generation = w.generation and s.idle_expires_at <= w.now then 'expired'
                 when s.generation = w.generation then 'rotated'
                 when s.generation = w.generation + 1 and w.grace > 0
                      and s.rotated_at > w.now - make_interval(secs => w.grace) then 'repeated'
                 when s.generation > w.generation then 'reused'
                 else 'absent'
               end as outcome
          from wanted w join sessions s on s.realm = w.realm and s.sid = w.sid
         order by s.realm, s.sid
           for update of s
      ), written as (
        update sessions s
           set generation      = case when old.outcome = 'rotated' then old.generation + 1 else old.generation end,
               refresh_kid     = case when old.outcome = 'rotated' then old.successor_kid else old.refresh_kid end,
               rotated_at      = case when old.outcome = 'rotated' then old.now else old.rotated_at end,
               idle_expires_at = case when old.outcome = 'rotated'
                                      then least(old.successor_idle_expires_at, old.expires_at)
                                      else old.idle_expires_at end,
               ended_at        = case when old.outcome = 'reused' then old.now end,
               end_reason      = case when old.outcome = 'reused' then 'refresh_token_reused' end
          from old
         where s.realm = old.realm and s.sid = old.sid and old.outcome in ('rotated', 'reused')
        returning old.ord, s.generation, s.refresh_kid, s.rotated_at, s.idle_expires_at
      )
      select old.ord::integer                                       as ord,
             old.outcome,
             coalesce(written.generation, old.generation)           as generation,
             coalesce(written.refresh_kid, old.refresh_kid)         as "refreshKid",
             coalesce(written.rotated_at, old.rotated_at)           as "rotatedAt",
             coalesce(written.idle_expires_at, old.idle_expires_at) as "idleExpiresAt",
             old.expires_at                                         as "expiresAt"
        from old left join written on written.ord = old.ord`,
    values: [
      rotations.map(({ realm }) => realm),
      rotations.map(({ sid }) => sid),
      rotations.map(({ clientId }) => clientId),
      rotations.map(({ generation }) => generation),
      rotations.map(({ now }) => now),
      rotations.map(({ graceSeconds }) => graceSeconds),
      rotations.map(({ successorKid }) => successorKid),
      rotations.map(({ successorIdleExpiresAt }) => successorIdleExpiresAt),
    ],
  })
  const outcomes: (Rotated | RotationRefused)[] = rotations.map(() => ({ outcome: 'absent' }))
  for (const { ord, ...row } of rows) {
    const { outcome } = row
    outcomes[ord - 1] = outcome === 'rotated' || outcome === 'repeated' ? { ...row, outcome } : { outcome }
  }
  return outcomes
}

type RotationRow = Omit<Rotated, 'outcome'> & { ord: number; outcome: (Rotated | RotationRefused)['outcome'] }
