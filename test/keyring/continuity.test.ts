import { beforeAll, describe, expect, test } from 'vitest'
import { checkContinuity, withTombstones, type SeenVersion } from '../../keyring/continuity.ts'
import type { EncryptionKey, Keyring } from '../../keyring/keyring.ts'
import { encryptionKey, sampleKeyring, secondsLater } from './sample_keyring.ts'

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
  [
    'signing keys that went',
    () => ring(v1),
    [{ kind: 'signing', version: 5, fingerprint: 'kid', state: 'active' }],
    [],
    'ok',
  ],
]

test.each(cases)('row 65: %s', (_, keyring, known, accepted, outcome) => {
  expect(checkContinuity(keyring(), known, accepted).outcome).toBe(outcome)
})

describe('the message', () => {
  test('names versions and fingerprints, what to do, and no key', () => {
    const verdict = checkContinuity(ring(v1, other2), seen(v1, v2, v3), [])
    if (verdict.outcome === 'ok') throw new Error('accepted')
    expect(verdict.missing.map(({ version }) => version)).toEqual([2, 3])
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
    const verdict = checkContinuity(undefined, many, [])
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
