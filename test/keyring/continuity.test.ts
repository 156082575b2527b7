import { beforeAll, describe, expect, test } from 'vitest'
import {
  checkContinuity,
  keyringDigest,
  namesOf,
  withTombstones,
  type Continuity,
  type KeyRecord,
  type SeenVersion,
} from '../../keyring/continuity.ts'
import type { EncryptionKey, Keyring } from '../../keyring/keyring.ts'
import { encryptionKey, sampleKeyring, secondsLater, START } from './sample_keyring.ts'

let sample: Keyring
beforeAll(async () => {
  sample = await sampleKeyring()
})

const v1 = encryptionKey(1, 'decrypt_only')
const v2 = encryptionKey(2, 'primary')
const v3 = encryptionKey(3, 'pending')
const other2 = encryptionKey(2, 'primary', 77)
const tombstone1 = encryptionKey(1, 'destroyed')

const seen = (...keys: EncryptionKey[]): SeenVersion[] =>
  keys.map(({ version, fingerprint, state }) => ({ version, fingerprint, state }))
const ring = (...encryption: EncryptionKey[]): Keyring => ({ ...sample, encryption })

const cases: [string, () => Keyring | undefined, SeenVersion[], string[], string][] = [
  ['a realm that never had a keyring', () => undefined, [], [], 'ok'],
  ['a first keyring', () => ring(v1), [], [], 'ok'],
  ['the keyring that was seen', () => ring(v1, v2), seen(v1, v2), [], 'ok'],
  ['a higher version that was never seen', () => ring(v1, v2, v3), seen(v1, v2), [], 'ok'],
  ['a changed state', () => ring(encryptionKey(1, 'disabled'), v2), seen(v1, v2), [], 'ok'],
  ['no keyring', () => undefined, seen(v1, v2), [], 'KeyringLost'],
  ['an emptied keyring', () => ring(), seen(v1, v2), [], 'KeyringLost'],
  ['a keyring with other versions only', () => ring(v3), seen(v1, v2), [], 'KeyringLost'],
  ['an older keyring', () => ring(v1), seen(v1, v2), [], 'KeyringRolledBack'],
  ['a keyring that misses an old version', () => ring(v2, v3), seen(v1, v2), [], 'KeyringRolledBack'],
  ['other bytes under a known version', () => ring(v1, other2), seen(v1, v2), [], 'KeyringRolledBack'],
  [
    'a keyring created again from version 1',
    () => ring(encryptionKey(1, 'primary', 50)),
    seen(v1),
    [],
    'KeyringRolledBack',
  ],
  ['a loss that was accepted', () => ring(v1), seen(v1, v2), [v2.fingerprint], 'ok'],
  ['the loss of all, accepted', () => undefined, seen(v1, v2), [v1.fingerprint, v2.fingerprint], 'ok'],
  ['the loss of all, accepted in part', () => undefined, seen(v1, v2), [v1.fingerprint], 'KeyringLost'],
  [
    'other bytes, accepted by the fingerprint of the lost ones',
    () => ring(v1, other2),
    seen(v1, v2),
    [v2.fingerprint],
    'ok',
  ],
  [
    'other bytes, accepted by their own fingerprint',
    () => ring(v1, other2),
    seen(v1, v2),
    [other2.fingerprint],
    'KeyringRolledBack',
  ],
  ['a tombstone of the seen bytes', () => ring(tombstone1, v2), seen(v1, v2), [], 'ok'],
  [
    'a tombstone of other bytes',
    () => ring(encryptionKey(1, 'destroyed', 9), v2),
    seen(v1, v2),
    [],
    'KeyringRolledBack',
  ],
  ['bytes of a version that was destroyed', () => ring(v1, v2), seen(tombstone1, v2), [], 'ok'],
  [
    'other bytes of a version that was destroyed',
    () => ring(encryptionKey(1, 'primary', 9)),
    seen(tombstone1),
    [],
    'KeyringRolledBack',
  ],
  ['a lost tombstone', () => ring(v2), seen(tombstone1, v2), [], 'ok'],
  ['no keyring where all was destroyed', () => undefined, seen(tombstone1), [], 'ok'],
]

function check(keyring: Keyring | undefined, versions: SeenVersion[], accepted: string[]): Continuity {
  const marked = versions.map((each) => ({
    ...each,
    acceptedLossAt: accepted.includes(each.fingerprint) ? START : null,
  }))
  const keys = keyring ? namesOf(keyring) : []
  return checkContinuity(keyring, { versions: marked, keys, isExternal: false })
}

test.each(cases)('row 65: %s', (_, keyring, known, accepted, outcome) => {
  expect(check(keyring(), known, accepted).outcome).toBe(outcome)
})

describe('row 140: signing and refresh keys', () => {
  let other: Keyring
  beforeAll(async () => {
    other = await sampleKeyring([])
  })
  const known = (): KeyRecord['keys'] => namesOf({ ...sample, encryption: [] })
  const passive = <K extends { state: string }>(keys: K[]) => keys.map((key) => ({ ...key, state: 'passive' as const }))
  const cases: [string, () => Partial<Keyring> | undefined, Partial<KeyRecord>, string][] = [
    ['the recorded keyring', () => ({}), {}, 'ok'],
    ['no keyring', () => undefined, {}, 'KeyringLost'],
    ['a keyring of other keys', () => other, {}, 'KeyringRolledBack'],
    ['another signing key', () => ({ signing: other.signing }), {}, 'KeyringRolledBack'],
    ['another refresh key', () => ({ refresh: other.refresh }), {}, 'KeyringRolledBack'],
    ['another writer does not make a loss valid', () => other, { isExternal: true }, 'KeyringRolledBack'],
    ['no signing key', () => ({ signing: [] }), {}, 'KeyringRolledBack'],
    [
      'a key that was added beside the recorded ones',
      () => ({ signing: [...passive(sample.signing), ...other.signing] }),
      {},
      'KeyringUnconfirmed',
    ],
    [
      'a refresh key that was added',
      () => ({ refresh: [...sample.refresh, ...passive(other.refresh)] }),
      {},
      'KeyringUnconfirmed',
    ],
    ['an encryption key that was added', () => ({ encryption: [v3] }), {}, 'KeyringUnconfirmed'],
    [
      'an added key, where another writer was accepted',
      () => ({ signing: [...passive(sample.signing), ...other.signing] }),
      { isExternal: true },
      'ok',
    ],
    ['a first keyring that others wrote', () => ({}), { keys: [] }, 'KeyringUnconfirmed'],
  ]
  test.each(cases)('%s', (_, change, record, outcome) => {
    const changed = change()
    const keyring = changed && { ...sample, encryption: [], ...changed }
    expect(checkContinuity(keyring, { versions: [], keys: known(), isExternal: false, ...record }).outcome).toBe(
      outcome,
    )
  })

  test('an active key becomes passive before it goes, and its loss can be accepted', () => {
    const [signing, refresh] = known()
    const record = (key: object): KeyRecord => ({
      versions: [],
      isExternal: true,
      keys: [Object.assign({}, signing, key), ...(refresh ? [refresh] : [])],
    })
    const without = { ...sample, signing: [], encryption: [] }
    expect(checkContinuity(without, record({})).outcome).toBe('KeyringRolledBack')
    expect(checkContinuity(without, record({ acceptedLossAt: START })).outcome).toBe('ok')
    for (const state of ['passive', 'pending', 'removed', 'announced'])
      expect(checkContinuity(without, record({ state })).outcome).toBe('ok')
  })

  test('the digest names the set of keys', () => {
    const digest = keyringDigest(sample)
    expect(digest).toMatch(/^[0-9a-f]{32}$/)
    expect(keyringDigest({ ...sample, fields: [], signing: passive(sample.signing) })).toBe(digest)
    expect(keyringDigest({ ...sample, refresh: other.refresh })).not.toBe(digest)
  })
})

describe('the message', () => {
  test('names versions and fingerprints, what to do, and no key', () => {
    const verdict = check(ring(v1, other2), seen(v1, v2, v3), [])
    if (verdict.outcome === 'ok') throw new Error('accepted')
    expect(verdict.message).toContain(`version 2 (${v2.fingerprint}) has other bytes (${other2.fingerprint})`)
    expect(verdict.message).toContain(`version 3 (${v3.fingerprint}) is missing`)
    expect(verdict.message).toContain(`realmkeeper.io/accept-key-loss: ${v2.fingerprint},${v3.fingerprint}`)
    for (const { key } of [v1, v2, v3, other2]) expect(verdict.message).not.toContain(key)
  })

  test('stays short when a thousand versions are gone', () => {
    const many = Array.from({ length: 1000 }, (_, at) => ({
      version: at + 1,
      fingerprint: `${at}`.padStart(16, '0'),
      state: 'decrypt_only',
    }))
    const verdict = check(undefined, many, [])
    if (verdict.outcome === 'ok') throw new Error('accepted')
    expect(verdict.message).toContain('and 995 more')
    expect(verdict.message.length).toBeLessThan(800)
  })
})

describe('tombstones', () => {
  const now = secondsLater(60)

  test('a destroyed key that comes back with a backup loses its bytes again', () => {
    const repaired = withTombstones(ring(v1, v2), seen(tombstone1, v2), now)
    expect(repaired.encryption[0]).toEqual({
      version: 1,
      fingerprint: v1.fingerprint,
      state: 'destroyed',
      createdAt: v1.createdAt,
      destroyedAt: now.toISOString(),
    })
    expect(repaired.encryption[1]).toBe(v2)
  })

  test('a tombstone that is lost is put back in its place', () => {
    const repaired = withTombstones(ring(v2), seen(tombstone1, v2), now)
    expect(repaired.encryption.map(({ version, state }) => [version, state])).toEqual([
      [1, 'destroyed'],
      [2, 'primary'],
    ])
  })

  test('a keyring that agrees stays the same object', () => {
    const keyring = ring(tombstone1, v2)
    expect(withTombstones(keyring, seen(tombstone1, v2), now)).toBe(keyring)
  })
})
