import type { Logger } from 'pino'
import type { Pool } from 'pg'
import { listKeyVersions } from '../../store/key_versions.ts'
import { checkContinuity, withTombstones } from '../../keyring/continuity.ts'
import { parseKeyring } from '../../keyring/parse_keyring.ts'
import { KeyringError } from '../../keyring/members.ts'
import { loadKeyring } from '../../keyring/loaded_keyring.ts'
import type { LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import type { RealmRow } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { KeyringReading, KeyringSource } from './keyring_source.ts'

export interface Keyrings {
  /** Follows the keyrings of these realms, and no others. */
  follow(realms: RealmRow[]): void
  /** The last good keyring of a realm. @throws OAuthError 503 while there was none */
  get: (realm: string) => LoadedKeyring
  /** Tries again what was refused: the loss of its keys may be accepted by now, or Postgres be back. */
  retryRefused: () => void
  /** What this process holds, by realm. */
  fingerprints: () => Record<string, string[]>
  /** Realms whose present keyring is not served, and why. */
  refused: () => { realm: string; reason: string }[]
  /** True once every followed keyring was judged: whatever is there to be served is served. */
  isSettled: () => boolean
  close(): void
}

export interface KeyringsOptions {
  source: KeyringSource
  pool: Pool
  now: () => Date
  log: Logger
  /** Called when what this process holds has changed. */
  onLoaded: () => void
}

/** One realm's keyring as this process knows it. */
interface Followed {
  realm: string
  place: string
  stop: () => void
  reading: KeyringReading | undefined
  current: LoadedKeyring | undefined
  refusal: string | undefined
  /** False while a reading could not be judged, because Postgres was away. */
  isJudged: boolean
  /** Readings are judged one after another; the newest counts. */
  judging: Promise<void> | undefined
}

/**
 * Holds the keyrings of all realms. A keyring that is damaged, rolled back or gone never takes the place of a good one:
 * it is refused with an alarm, and the last good one is served on.
 */
export function createKeyrings({ source, pool, now, log, onLoaded }: KeyringsOptions): Keyrings {
  const followed = new Map<string, Followed>()

  function start({ realm, keyringNamespace: namespace, keyringName: name }: RealmRow, place: string): Followed {
    const one: Followed = {
      realm,
      place,
      stop: () => {},
      reading: undefined,
      // Moved to another place: the keys stay until those of the new place are there.
      current: followed.get(realm)?.current,
      refusal: undefined,
      isJudged: false,
      judging: undefined,
    }
    one.stop = source.watch({ namespace, name }, (reading) => {
      one.reading = reading
      void judge(one)
    })
    return one
  }

  function judge(one: Followed): Promise<void> {
    one.judging ??= judgeNewest(one).finally(() => {
      one.judging = undefined
    })
    return one.judging
  }

  async function judgeNewest(one: Followed): Promise<void> {
    for (let judged: KeyringReading | undefined; one.reading && one.reading !== judged;) {
      judged = one.reading
      try {
        one.current = await accept(one, judged)
        if (one.refusal !== undefined) log.info({ realm: one.realm }, 'the keyring is good again')
        one.refusal = undefined
        one.isJudged = true
        onLoaded()
      } catch (error) {
        refuse(one, error)
      }
    }
  }

  /** @throws KeyringError when the reading is not fit to be served */
  async function accept({ realm, current }: Followed, reading: KeyringReading): Promise<LoadedKeyring> {
    if (reading.outcome === 'absent') throw new KeyringError('its Secret is not there')
    if (reading.outcome === 'unreadable') throw new KeyringError(reading.reason)
    const keyring = await parseKeyring(reading.bytes, realm)
    const seen = await listKeyVersions(pool, realm)
    const accepted = seen.filter(({ acceptedLossAt }) => acceptedLossAt).map(({ fingerprint }) => fingerprint)
    const continuity = checkContinuity(keyring, seen, accepted)
    if (continuity.outcome !== 'ok') throw new KeyringError(`${continuity.outcome}: ${continuity.message}`)
    const loaded = await loadKeyring(withTombstones(keyring, seen, now()))
    if (current?.signer && !loaded.signer) throw new KeyringError('it has no active signing key any more')
    if (current?.refreshKid && !loaded.refreshKid) throw new KeyringError('it has no active refresh key any more')
    return loaded
  }

  function refuse(one: Followed, error: unknown): void {
    const reason = error instanceof KeyringError ? error.message : 'it could not be compared with the keys seen before'
    one.isJudged = error instanceof KeyringError
    if (reason === one.refusal) return
    one.refusal = reason
    const serving = one.current
      ? 'the last good one is served on'
      : 'the realm issues no tokens until there is a good one'
    const details = {
      realm: one.realm,
      place: one.place,
      reason,
      ...(error instanceof KeyringError ? {} : { err: error }),
    }
    // A realm that is just being made waits for its first keyring; nothing is wrong with that.
    if (one.reading?.outcome === 'absent' && !one.current) log.info(details, 'a keyring is waited for')
    else log.error(details, `a keyring was refused: ${serving}`)
  }

  return {
    follow(realms) {
      const wanted = new Set(realms.map(({ realm }) => realm))
      for (const [realm, one] of followed) {
        if (wanted.has(realm)) continue
        one.stop()
        followed.delete(realm)
      }
      for (const row of realms) {
        const place = `${row.keyringNamespace}/${row.keyringName}`
        const present = followed.get(row.realm)
        if (present?.place === place) continue
        present?.stop()
        followed.set(row.realm, start(row, place))
      }
    },
    get(realm) {
      const current = followed.get(realm)?.current
      if (!current) throw new OAuthError('keyring_unavailable', 'The keys of the realm are not loaded')
      return current
    },
    retryRefused() {
      for (const one of followed.values()) {
        if (one.refusal === undefined || !one.reading) continue
        one.reading = { ...one.reading }
        void judge(one)
      }
    },
    fingerprints: () =>
      Object.fromEntries(
        [...followed.values()].map(({ realm, current }) => [realm, [...(current?.fingerprints ?? [])]]),
      ),
    refused: () =>
      [...followed.values()].flatMap(({ realm, refusal }) =>
        refusal === undefined ? [] : [{ realm, reason: refusal }],
      ),
    isSettled: () => [...followed.values()].every(({ current, isJudged }) => current || isJudged),
    close() {
      for (const one of followed.values()) one.stop()
      source.close()
    },
  }
}
