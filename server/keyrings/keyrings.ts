import type { Logger } from 'pino'
import type { Pool } from 'pg'
import { findKeyringRecord } from '../../store/keyring_records.ts'
import { checkContinuity, withTombstones } from '../../keyring/continuity.ts'
import { parseKeyring } from '../../keyring/parse_keyring.ts'
import { KeyringError } from '../../keyring/members.ts'
import { loadKeyring } from '../../keyring/loaded_keyring.ts'
import type { LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import type { RealmRow } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { KeyringReading, KeyringSource } from './keyring_source.ts'

export interface Keyrings {
  /** Watches the keyrings of these realms, and no others. */
  follow(realms: RealmRow[]): void
  /** The keyring that is served for a realm. @throws OAuthError 503 while there was none */
  get: (realm: string) => LoadedKeyring
  /** Checks refused keyrings again: the loss of keys may have been accepted, or PostgreSQL may answer again. */
  retryRefused: () => void
  /** Fingerprints of the loaded keys, by realm. */
  fingerprints: () => Record<string, string[]>
  /** Realms whose present keyring is refused, and the reason. */
  refused: () => { realm: string; reason: string }[]
  /** True once the keyring of every realm that was followed at first is loaded or refused for its content. */
  isSettled: () => boolean
  close(): void
}

export interface KeyringsOptions {
  source: KeyringSource
  pool: Pool
  now: () => Date
  log: Logger
  /** Called when the loaded keys may have changed. */
  onLoaded: () => void
}

interface Followed {
  realm: string
  /** `namespace/name` of the Secret. */
  secret: string
  stop: () => void
  reading: KeyringReading | undefined
  /** The last good keyring. */
  current: LoadedKeyring | undefined
  refusal: string | undefined
  /** Followed since the start. A server stays ready for all realms while one that was added later has no keyring yet. */
  isAwaited: boolean
  /** False while a reading could not be checked because PostgreSQL did not answer. */
  isChecked: boolean
  /** Readings are checked one after another, the latest last. */
  checking: Promise<void> | undefined
}

/**
 * Loads the keyrings of all realms. A keyring that is damaged, rolled back or missing never replaces a good one: it is
 * refused with an error in the log, and the last good keyring stays in service.
 */
export function createKeyrings({ source, pool, now, log, onLoaded }: KeyringsOptions): Keyrings {
  const followed = new Map<string, Followed>()
  let hasFollowed = false

  function start({ realm, keyringNamespace: namespace, keyringName: name }: RealmRow, secret: string): Followed {
    const one: Followed = {
      realm,
      secret,
      stop: () => {},
      reading: undefined,
      // After a move to another Secret, the former keys stay until that one is read.
      current: followed.get(realm)?.current,
      refusal: undefined,
      isAwaited: !hasFollowed,
      isChecked: false,
      checking: undefined,
    }
    one.stop = source.watch({ namespace, name }, (reading) => {
      one.reading = reading
      void check(one)
    })
    return one
  }

  function check(one: Followed): Promise<void> {
    one.checking ??= checkLatest(one).finally(() => {
      one.checking = undefined
    })
    return one.checking
  }

  async function checkLatest(one: Followed): Promise<void> {
    for (let checked: KeyringReading | undefined; one.reading && one.reading !== checked;) {
      checked = one.reading
      try {
        one.current = await load(one, checked)
        if (one.refusal !== undefined) log.info({ realm: one.realm }, 'the keyring is accepted again')
        one.refusal = undefined
        one.isChecked = true
        onLoaded()
      } catch (error) {
        refuse(one, error)
      }
    }
  }

  /** @throws KeyringError when the reading must not be served */
  async function load({ realm, current }: Followed, reading: KeyringReading): Promise<LoadedKeyring> {
    if (reading.outcome === 'absent') throw new KeyringError('the Secret does not exist')
    if (reading.outcome === 'unreadable') throw new KeyringError(reading.reason)
    const keyring = await parseKeyring(reading.bytes, realm)
    const record = await findKeyringRecord(pool, realm)
    const continuity = checkContinuity(keyring, record)
    if (continuity.outcome !== 'ok') throw new KeyringError(`${continuity.outcome}: ${continuity.message}`)
    const loaded = await loadKeyring(withTombstones(keyring, record.versions, now()))
    if (current?.signer && !loaded.signer) throw new KeyringError('it has no active signing key any more')
    if (current?.refreshKid && !loaded.refreshKid) throw new KeyringError('it has no active refresh key any more')
    return loaded
  }

  function refuse(one: Followed, error: unknown): void {
    const reason =
      error instanceof KeyringError ? error.message : 'it could not be compared with the known key versions'
    one.isChecked = error instanceof KeyringError
    if (reason === one.refusal) return
    one.refusal = reason
    const consequence = one.current
      ? 'the last good one stays in service'
      : 'the realm issues no tokens until the Secret holds a good one'
    const details = {
      realm: one.realm,
      secret: one.secret,
      reason,
      ...(error instanceof KeyringError ? {} : { err: error }),
    }
    // A new realm has no keyring for a moment.
    if (one.reading?.outcome === 'absent' && !one.current) log.info(details, 'a realm waits for its first keyring')
    else log.error(details, `a keyring was refused: ${consequence}`)
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
        const secret = `${row.keyringNamespace}/${row.keyringName}`
        const present = followed.get(row.realm)
        if (present?.secret === secret) continue
        present?.stop()
        followed.set(row.realm, start(row, secret))
      }
      hasFollowed = true
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
        void check(one)
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
    isSettled: () =>
      [...followed.values()].every(({ isAwaited, current, isChecked }) => !isAwaited || current || isChecked),
    close() {
      for (const one of followed.values()) one.stop()
      source.close()
    },
  }
}
