import { beforeAll, describe, expect, test } from 'vitest'
import type { SigningAlgorithm } from '../../keyring/jws.ts'
import { advanceKeyring } from '../../keyring/advance_keyring.ts'
import type { SeenVersion } from '../../keyring/continuity.ts'
import { generateRefreshKey } from '../../keyring/generate.ts'
import {
  emptyKeyring,
  serializeKeyring,
  type EncryptionKey,
  type Keyring,
  type SigningKey,
} from '../../keyring/keyring.ts'
import { parseKeyring } from '../../keyring/parse_keyring.ts'
import { planEncryption, planRefresh, planSigning, type RotationInput } from '../../keyring/rotation.ts'
import { encryptionKey, sampleKeyring, secondsLater, START } from './sample_keyring.ts'

const DAY = 86_400

type Replica = readonly string[]

function input(seconds: number, liveReplicas: readonly Replica[], more: Partial<RotationInput> = {}): RotationInput {
  return {
    now: secondsLater(seconds),
    liveReplicas,
    algorithm: 'EdDSA',
    signingKeyPeriodDays: 90,
    encryptionKeyPeriodDays: 365,
    accessTokenLifetimeSeconds: 300,
    sessionLifetimeSeconds: 36_000,
    seen: [],
    ...more,
  }
}

/** The names of the keys that a replica holds. */
const replica = (...names: string[]): Replica => names

let keyring: Keyring
let active: SigningKey
beforeAll(async () => {
  keyring = await sampleKeyring()
  active = keyring.signing[0]!
})

/** The active signing key and another one; their bytes do not matter to a plan. */
function withKey(more: Partial<SigningKey>): Keyring {
  return { ...keyring, signing: [active, { ...active, kid: 'next', state: 'pending', ...more }] }
}

const states = ({ signing }: Keyring) =>
  Object.fromEntries(signing.map(({ kid, state }) => [kid === active.kid ? 'active one' : kid, state]))
const at = (seconds: number) => secondsLater(seconds).toISOString()

describe('signing keys', () => {
  const plan = (
    ring: Keyring,
    seconds: number,
    replicas: Replica[],
    more: Partial<RotationInput> = {},
    algorithm: SigningAlgorithm = 'EdDSA',
  ) => planSigning(ring, input(seconds, replicas, { algorithm, ...more }))

  test('the first key is used at once', () => {
    expect(plan({ ...keyring, signing: [] }, 0, []).newKey).toEqual({ kind: 'signing', alg: 'EdDSA', state: 'active' })
  })

  test('a key in use is left alone until its period is over', () => {
    const before = { ...keyring, signing: [{ ...active, tokenLifetimeSeconds: 300 }] }
    const planned = plan(before, 90 * DAY - 1, [])
    expect(planned.keyring).toBe(before)
    expect(planned.newKey).toBeUndefined()
    expect(planned.recheckAt).toEqual(secondsLater(90 * DAY))
    expect(plan(before, 90 * DAY, []).newKey).toEqual({ kind: 'signing', alg: 'EdDSA', state: 'pending' })
  })

  test('another algorithm starts a new key', () => {
    expect(plan(keyring, 1, [], {}, 'ES256').newKey).toEqual({ kind: 'signing', alg: 'ES256', state: 'pending' })
  })

  test('an algorithm taken back drops the key that has not signed', () => {
    const planned = plan(withKey({ alg: 'ES256' }), 1, [replica()])
    expect(states(planned.keyring)).toEqual({ 'active one': 'active' })
    expect(planned.changes).toEqual([{ kind: 'signing', key: 'next', step: 'dropped' }])
  })

  const holdsNext = replica('next')
  const waiting: [string, Partial<SigningKey>, Replica[]][] = [
    ['no replica lives', {}, []],
    ['a replica does not hold it', {}, [holdsNext, replica()]],
    ['it was published 299 s ago', { publishedAt: at(701) }, [holdsNext]],
    ['a new replica does not hold it', { publishedAt: at(0) }, [holdsNext, replica()]],
    ['every replica died since it was published', { publishedAt: at(0) }, []],
  ]
  test.each(waiting)('a pending key waits while %s', (_, key, replicas) => {
    const planned = plan(withKey(key), 1000, replicas)
    expect(states(planned.keyring)).toEqual({ 'active one': 'active', next: 'pending' })
    expect(planned.newKey).toBeUndefined()
    expect(planned.recheckAt?.getTime()).toBeLessThanOrEqual(secondsLater(1300).getTime())
  })

  test('it is published when every live replica holds it, and signs 300 s later', () => {
    const published = plan(withKey({}), 1000, [holdsNext, replica('x', 'next')])
    expect(published.changes).toEqual([{ kind: 'signing', key: 'next', step: 'published' }])
    expect(published.keyring.signing[1]?.publishedAt).toBe(at(1000))
    expect(published.recheckAt).toEqual(secondsLater(1300))

    const promoted = plan(published.keyring, 1300, [holdsNext])
    expect(states(promoted.keyring)).toEqual({ 'active one': 'passive', next: 'active' })
    expect(promoted.changes.map(({ step }) => step)).toEqual(['passive', 'active'])
    expect(promoted.keyring.signing[0]).toMatchObject({ passiveAt: at(1300), tokenLifetimeSeconds: 300 })
    expect(promoted.keyring.signing[1]).toMatchObject({ activatedAt: at(1300) })
  })

  test('a passive key stays until the last token it signed has expired, even after the lifetime was changed', () => {
    const signedLong = plan(keyring, 1, [], { accessTokenLifetimeSeconds: 3600 }).keyring
    expect(signedLong.signing[0]?.tokenLifetimeSeconds).toBe(3600)
    const shortened = plan(signedLong, 2, [], { accessTokenLifetimeSeconds: 60 }).keyring
    expect(shortened).toBe(signedLong)

    const passive = {
      ...keyring,
      signing: [{ ...shortened.signing[0]!, kid: 'old', state: 'passive' as const, passiveAt: at(1000) }, active],
    }
    const just = plan(passive, 1000 + 3600 + 59, [])
    expect(states(just.keyring)).toEqual({ old: 'passive', 'active one': 'active' })
    expect(just.recheckAt).toEqual(secondsLater(1000 + 3600 + 60))
    const gone = plan(passive, 1000 + 3600 + 60, [])
    expect(states(gone.keyring)).toEqual({ 'active one': 'active' })
    expect(gone.changes).toEqual([{ kind: 'signing', key: 'old', step: 'removed' }])
  })

  test('without an active key, a pending one is used at once', () => {
    const ring = { ...keyring, signing: [{ ...active, kid: 'next', state: 'pending' as const }] }
    expect(states(plan(ring, 1, []).keyring)).toEqual({ next: 'active' })
  })

  test('a full list of keys makes no more of them', () => {
    const passive = Array.from({ length: 31 }, (_, each) => ({
      ...active,
      kid: `p${each}`,
      state: 'passive' as const,
      passiveAt: at(0),
    }))
    const ring = { ...keyring, signing: [active, ...passive] }
    expect(plan(ring, 10, [], { rotate: { signing: 'now' } }).newKey).toBeUndefined()
    expect(plan(ring, 1000, [], { rotate: { signing: 'now' } }).newKey).toMatchObject({ state: 'pending' })
  })
})

describe('refresh keys', () => {
  const replicasHolding = (ring: Keyring) => [replica(...ring.refresh.map(({ kid }) => kid))]

  test('the first is used at once; the next when every replica holds it, without waiting for clients', () => {
    expect(planRefresh({ ...keyring, refresh: [] }, input(0, [])).newKey).toEqual({
      kind: 'refresh',
      state: 'active',
    })
    const ring = { ...keyring, refresh: [...keyring.refresh, generateRefreshKey(START)] }
    expect(planRefresh(ring, input(0, [replica()])).keyring.refresh[1]?.state).toBe('pending')
    const promoted = planRefresh(ring, input(0, replicasHolding(ring))).keyring
    expect(promoted.refresh.map(({ state }) => state)).toEqual(['passive', 'active'])
  })

  test('is kept for the longest session', () => {
    const ring = {
      ...keyring,
      refresh: [{ ...generateRefreshKey(START), state: 'passive' as const, passiveAt: at(0) }, ...keyring.refresh],
    }
    expect(planRefresh(ring, input(36_000, [])).keyring.refresh).toHaveLength(2)
    expect(planRefresh(ring, input(36_060, [])).keyring.refresh).toHaveLength(1)
  })
})

describe('encryption keys', () => {
  const ringOf = (...encryption: EncryptionKey[]): Keyring => ({ ...keyring, encryption })
  const seenOf = (...keys: EncryptionKey[]): SeenVersion[] =>
    keys.map(({ version, fingerprint, state }) => ({ version, fingerprint, state }))
  const v1 = encryptionKey(1, 'primary')
  const v2 = encryptionKey(2, 'pending')
  const plan = (ring: Keyring, more: Partial<RotationInput>, replicas: Replica[] = [], seconds = 0) =>
    planEncryption(ring, input(seconds, replicas, more))

  test('the first is made, recorded, then used at once', () => {
    expect(plan(ringOf(), {}).newKey).toEqual({ kind: 'encryption', version: 1, state: 'pending' })
    const pending = encryptionKey(1, 'pending')
    expect(plan(ringOf(pending), {}).keyring.encryption[0]?.state).toBe('pending')
    expect(plan(ringOf(pending), { seen: [{ ...seenOf(pending)[0]!, fingerprint: 'other' }] }).changes).toEqual([])
    expect(plan(ringOf(pending), { seen: seenOf(pending) }).keyring.encryption[0]).toMatchObject({
      state: 'primary',
      primaryAt: at(0),
    })
  })

  test('row 66: the next is used when it is recorded and every live replica can decrypt with it', () => {
    const ring = ringOf(v1, v2)
    const seen = seenOf(v1, v2)
    const holds = replica(v1.fingerprint, v2.fingerprint)
    const lacks = replica(v1.fingerprint)
    for (const [known, replicas] of [
      [seenOf(v1), [holds]],
      [seen, [holds, lacks]],
      [seen, []],
    ] as const) {
      const planned = plan(ring, { seen: known }, [...replicas])
      expect(planned.keyring).toBe(ring)
      expect(planned.recheckAt).toEqual(secondsLater(5))
    }
    const promoted = plan(ring, { seen }, [holds], 7)
    expect(promoted.keyring.encryption).toMatchObject([
      { version: 1, state: 'decrypt_only', decryptOnlyAt: at(7), key: v1.key },
      { version: 2, state: 'primary', primaryAt: at(7) },
    ])
    expect(promoted.changes).toEqual([
      { kind: 'encryption', key: '2', step: 'primary' },
      { kind: 'encryption', key: '1', step: 'decrypt_only' },
    ])
  })

  test('a version is never used again: the next is one above the highest ever seen', () => {
    const lost = seenOf(encryptionKey(9, 'decrypt_only'))
    expect(plan(ringOf(), { seen: lost }).newKey).toMatchObject({ version: 10 })
    expect(plan(ringOf(encryptionKey(4, 'destroyed')), {}).newKey).toMatchObject({ version: 5 })
    expect(plan(ringOf(encryptionKey(2 ** 31 - 1, 'destroyed')), {}).newKey).toBeUndefined()
  })

  test('the period starts the next one', () => {
    expect(plan(ringOf(v1), {}, [], 365 * DAY - 1)).toMatchObject({ recheckAt: secondsLater(365 * DAY) })
    expect(plan(ringOf(v1), {}, [], 365 * DAY - 1).newKey).toBeUndefined()
    expect(plan(ringOf(v1), {}, [], 365 * DAY).newKey).toMatchObject({ version: 2 })
  })

  test('when the primary one was disabled, the next waits for the replicas like any other', () => {
    const ring = ringOf(encryptionKey(1, 'disabled'), v2)
    const seen = seenOf(...ring.encryption)
    expect(plan(ring, { seen }, [replica()]).keyring).toBe(ring)
    expect(plan(ring, { seen }, [replica(v2.fingerprint)]).keyring.encryption[1]?.state).toBe('primary')
  })

  test('a pending version below the primary one stays as it is', () => {
    const ring = ringOf(encryptionKey(1, 'pending'), encryptionKey(2, 'primary'))
    expect(plan(ring, { seen: seenOf(...ring.encryption) }, [replica(ring.encryption[0]!.fingerprint)]).keyring).toBe(
      ring,
    )
  })
})

describe('on demand', () => {
  const held = (ring: Keyring) => [
    replica(
      ...[...ring.signing, ...ring.refresh].map(({ kid }) => kid),
      ...ring.encryption.map((key) => key.fingerprint),
    ),
  ]
  /** Advances in steps of 100 s for `seconds`, writing and recording as the operator does; counts keys made. */
  async function run(from: Keyring, more: Partial<RotationInput>, seconds: number, start = 0) {
    let ring = from
    const made: string[] = []
    for (let time = start; time <= start + seconds; time += 100) {
      const seen = ring.encryption.map(({ version, fingerprint, state }) => ({ version, fingerprint, state }))
      const advance = await advanceKeyring(ring, input(time, held(ring), { ...more, seen }))
      made.push(...advance.changes.filter(({ step }) => step === 'created').map(({ kind }) => kind))
      ring = await parseKeyring(serializeKeyring(advance.keyring), 'quickstart')
    }
    return { ring, made }
  }

  test('a new realm gets one key of each kind, in use', async () => {
    const { ring, made } = await run(emptyKeyring('quickstart', { namespace: 'a', name: 'b' }), {}, 1000)
    expect(made).toEqual(['signing', 'refresh', 'encryption'])
    expect([ring.signing[0]?.state, ring.refresh[0]?.state, ring.encryption[0]?.state]).toEqual([
      'active',
      'active',
      'primary',
    ])
  })

  test('a keyring with nothing due stays the same object', async () => {
    const { ring } = await run(keyring, {}, 1000)
    const seen = ring.encryption.map(({ version, fingerprint, state }) => ({ version, fingerprint, state }))
    const advance = await advanceKeyring(ring, input(1100, held(ring), { seen }))
    expect(advance.keyring).toBe(ring)
    expect(advance.changes).toEqual([])
    expect(advance.recheckAt).toEqual(secondsLater(90 * DAY))
  })

  test('each new value rotates once, each kind by itself', async () => {
    const first = await run(keyring, { rotate: { signing: '2030-01-01T00:00:00Z' } }, 2000)
    expect(first.made).toEqual(['signing'])
    expect(first.ring.signing.map(({ state }) => state)).toEqual(['active'])
    expect(first.ring.signing[0]?.kid).not.toBe(active.kid)

    const again = await run(first.ring, { rotate: { signing: '2030-01-01T00:00:00Z', refresh: 'x' } }, 2000, 3000)
    expect(again.made).toEqual(['refresh'])
    const other = await run(
      again.ring,
      { rotate: { signing: 'another value', refresh: 'x', encryption: 'y' } },
      2000,
      6000,
    )
    expect(other.made).toEqual(['signing', 'encryption'])
    expect(other.ring.encryption.map(({ version, state }) => [version, state])).toEqual([
      [1, 'decrypt_only'],
      [2, 'primary'],
    ])
  })

  test('a value that comes while a key is pending waits for that key, then makes its own', async () => {
    const pending = await run(keyring, { rotate: { signing: 'a' } }, 100)
    expect(pending.ring.signing.map(({ state }) => state)).toEqual(['active', 'pending'])
    const both = await run(pending.ring, { rotate: { signing: 'b' } }, 3000, 200)
    expect(both.made).toEqual(['signing'])
    expect(both.ring.signing.map(({ state }) => state)).toEqual(['active'])
    expect(both.ring.signing[0]?.kid).not.toBe(pending.ring.signing[1]?.kid)
  })

  test('a value of any length is recorded in few characters', async () => {
    const { ring, made } = await run(keyring, { rotate: { refresh: 'x'.repeat(200_000) } }, 300)
    expect(made).toEqual(['refresh'])
    expect(ring.rotated.refresh).toHaveLength(43)
  })
})
