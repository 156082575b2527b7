import type { Logger } from 'pino'
import { pause } from '../../kubernetes/clock.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { appendAudit } from '../../store/audit.ts'
import { Deposed } from '../../store/operator/epoch.ts'
import { listRealmRemovals } from '../../store/realms.ts'
import { deleteEndedSessions, findSessionEnd } from '../../store/sessions/session_ends.ts'
import { deleteRemainingRows } from '../realm/rows.ts'
import { paced } from './paced.ts'
import type { Rows } from './rows.ts'
import type { StoreAccess } from './store_access.ts'

export interface RemainingDeletionsOptions {
  store: StoreAccess
  rows: Rows
  clock: Clock
  log: Logger
  onDeposed: (error: Deposed) => void
  signal: AbortSignal
}

const CHECK_MILLIS = 2_000
/** Sessions that one transaction deletes, in about 20 ms: the commits of others wait as long. */
const SESSIONS_AT_ONCE = 1_000

/**
 * Until `signal` is aborted: deletes, in batches, what removed clients, users and realms left. Nothing there is served
 * any more, so the deletion can take its time. PostgreSQL stores what remains to be done, so the next leader continues.
 */
export async function runRemainingDeletions(options: RemainingDeletionsOptions): Promise<void> {
  const { clock, log, signal } = options
  while (!signal.aborted) {
    try {
      await paced(options, () => deleteBatch(options))
    } catch (error) {
      if (error instanceof Deposed) return options.onDeposed(error)
      log.warn({ err: error, retryMillis: CHECK_MILLIS }, 'a batch of deletions failed; the operator retries it')
    }
    await pause(clock, CHECK_MILLIS, signal)
  }
}

/** False when there is nothing to delete, or other transactions hold all that is left. */
async function deleteBatch({ store, rows, log }: RemainingDeletionsOptions): Promise<boolean> {
  const [realm] = await listRealmRemovals(store.db)
  if (realm !== undefined) {
    if (await deleteRemainingRows({ store, rows }, realm))
      log.info({ realm }, 'the rows of a removed realm are deleted')
    return true
  }

  const end = await findSessionEnd(store.db)
  if (!end) return false
  const { id: _, afterSid: __, reason, realm: of, ...whose } = end
  const { deleted, total } = await store.transaction(async (db) => {
    const batch = await deleteEndedSessions(db, end, SESSIONS_AT_ONCE)
    if (batch.total === undefined) return batch
    const details = { ...whose, reason, sessions: batch.total }
    await appendAudit(db, store.auditWriter, [{ at: store.now(), action: 'session_ended', realm: of, details }])
    return batch
  })
  if (total !== undefined) log.info({ realm: of, ...whose, reason, sessions: total }, 'ended sessions are deleted')
  return deleted > 0 || total !== undefined
}
