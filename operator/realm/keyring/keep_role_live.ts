import type { Logger } from 'pino'
import type { Db } from '../../../store/db.ts'
import { listRealms } from '../../../store/realms.ts'
import type { Clock } from '../../../kubernetes/clock.ts'
import type { KeyringRole } from './keyring_role.ts'

const EVERY_MILLIS = 60_000

/** Takes keyrings out of the Role whose realms are gone, and puts right what somebody else made of it. */
export function keepRoleLive(options: {
  role: KeyringRole
  db: Db
  keyringNamespace: string
  leads: () => boolean
  clock: Clock
  log: Logger
}): { stop(): Promise<void> } {
  const { role, db, keyringNamespace, leads, clock, log } = options
  let stopped = false
  let cancel = (): void => {}
  let looking: Promise<void> = Promise.resolve()

  async function look(): Promise<void> {
    if (!leads()) return
    const realms = await listRealms(db)
    // Lost meanwhile: another one may have written rows that this list lacks.
    if (!leads()) return
    const here = realms.filter((realm) => realm.keyringNamespace === keyringNamespace)
    await role.keepOnly(here.map(({ keyringName }) => keyringName))
  }

  function lookLater(): void {
    if (stopped) return
    cancel = clock.after(EVERY_MILLIS, () => {
      looking = look().catch((error: unknown) => log.debug({ err: error }, 'the realms could not be read'))
      void looking.finally(lookLater)
    })
  }
  lookLater()

  return {
    async stop() {
      stopped = true
      cancel()
      await looking
    },
  }
}
