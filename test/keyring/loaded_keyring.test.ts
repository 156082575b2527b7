import { createSecretKey } from 'node:crypto'
import { inspect } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { deriveFieldKey } from '../../keyring/derivation.ts'
import { generateRefreshKey, generateSigningKey } from '../../keyring/generate.ts'
import { parseJws, SIGNING_ALGORITHMS, signJws, verifyJws } from '../../keyring/jws.ts'
import { emptyKeyring, type Keyring } from '../../keyring/keyring.ts'
import { loadKeyring, type LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import { encryptionKey, sampleKeyring, START } from './sample_keyring.ts'

let keyring: Keyring
let loaded: LoadedKeyring

beforeAll(async () => {
  const encryption = (['destroyed', 'disabled', 'decrypt_only', 'primary', 'pending'] as const).map((state, at) =>
    encryptionKey(at + 1, state),
  )
  keyring = await sampleKeyring(encryption)
  for (const alg of SIGNING_ALGORITHMS) {
    keyring.signing.unshift({
      ...(await generateSigningKey(alg, START)),
      state: alg === 'ES256' ? 'passive' : 'pending',
    })
  }
  keyring.refresh.push(generateRefreshKey(START))
  loaded = await loadKeyring(keyring)
})

test('the active key signs, and is verified with what verifiers hold', async () => {
  const { signer } = loaded
  if (!signer) throw new Error('no signer')
  expect(signer).toMatchObject({ alg: 'EdDSA', kid: keyring.signing.find(({ state }) => state === 'active')?.kid })
  const token = parseJws(await signJws({ kid: signer.kid }, { a: 1 }, signer), 999)
  const verifier = loaded.verifiers.get(signer.kid)
  if (!token || !verifier) throw new Error('no token or no verifier')
  expect(await verifyJws(token, verifier)).toBe(true)
  expect(verifier.key.type).toBe('public')
  expect(signer.key.type).toBe('private')
})

test('pending and passive keys verify too, each by its own algorithm', () => {
  expect([...loaded.verifiers].map(([kid, { alg }]) => ({ kid, alg }))).toEqual(
    expect.arrayContaining(keyring.signing.map(({ kid, alg }) => ({ kid, alg }))),
  )
  expect(loaded.verifiers.get('__proto__')).toBeUndefined()
  expect(loaded.verifiers.get('constructor')).toBeUndefined()
})

test('row 56: published keys have public members only, the active one first', () => {
  expect(loaded.publicJwks).toHaveLength(keyring.signing.length)
  expect(loaded.publicJwks[0]?.kid).toBe(loaded.signer?.kid)
  const membersOf = new Map([
    ['RSA', ['alg', 'e', 'kid', 'kty', 'n', 'use']],
    ['EC', ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']],
    ['OKP', ['alg', 'crv', 'kid', 'kty', 'use', 'x']],
  ])
  for (const jwk of loaded.publicJwks) {
    expect(Object.keys(jwk).toSorted()).toEqual(membersOf.get(String(jwk.kty)))
    for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth']) expect(jwk).not.toHaveProperty(secret)
  }
  const published = JSON.stringify(loaded.publicJwks)
  for (const { jwk } of keyring.signing) expect(published).not.toContain(jwk.d)
})

test('refresh keys are found by kid, and the active one is named', () => {
  expect([...loaded.refreshKeys.keys()]).toEqual(keyring.refresh.map(({ kid }) => kid))
  expect(loaded.refreshKid).toBe(keyring.refresh[0]?.kid)
  const key = loaded.refreshKeys.get(String(loaded.refreshKid))
  expect(key).toMatchObject({ alg: 'HS512', key: { type: 'secret', symmetricKeySize: 32 } })
})

test('row 61: versions have their states, and only usable ones have keys', () => {
  expect(loaded.primaryVersion).toBe(4)
  const states = [0, 1, 2, 3, 4, 5, 6].map((version) => loaded.encryptionState(version))
  expect(states).toEqual([undefined, 'destroyed', 'disabled', 'decrypt_only', 'primary', 'pending', undefined])
  const usable = [0, 1, 2, 3, 4, 5, 6].map((version) => loaded.fieldKey('dateOfBirth', 'dob', version) !== undefined)
  expect(usable).toEqual([false, false, false, true, true, true, false])
})

test('field keys are the derived ones, made once, and differ by field, tag and version', () => {
  const versionKey = createSecretKey(Buffer.alloc(32, 4))
  const key = loaded.fieldKey('dateOfBirth', 'dob', 4)
  expect(key?.equals(deriveFieldKey(versionKey, 'quickstart', 'dateOfBirth', 'dob'))).toBe(true)
  expect(loaded.fieldKey('dateOfBirth', 'dob', 4)).toBe(key)
  // Names that would be the same text if they were only put together.
  const pairs = [
    ['dateOfBirth', 'dob'],
    ['bdateOfBirth', 'do'],
    ['obdateOfBirth', 'd'],
    ['b a', 'c'],
    ['a', 'cb'],
  ] as const
  const keys = pairs.flatMap(([field, tag]) =>
    [3, 4].map((version) => loaded.fieldKey(field, tag, version)?.export().toString('hex')),
  )
  expect(new Set(keys).size).toBe(keys.length)
})

test('reports kids, and fingerprints of usable encryption keys only', () => {
  expect(loaded.fingerprints).toEqual([
    ...keyring.signing.map(({ kid }) => kid),
    ...keyring.refresh.map(({ kid }) => kid),
    ...keyring.encryption.slice(2).map(({ fingerprint }) => fingerprint),
  ])
})

test('row 67: no text of a key is left in what a log line could show', () => {
  const shown = inspect(loaded, { depth: 10, showHidden: true }) + JSON.stringify(loaded)
  for (const { key } of [...keyring.refresh, ...keyring.encryption]) if (key) expect(shown).not.toContain(key)
  for (const { jwk } of keyring.signing) expect(shown).not.toContain(jwk.d)
})

test('an empty keyring loads, and has nothing to sign or encrypt with', async () => {
  const empty = await loadKeyring(emptyKeyring('quickstart', { namespace: 'a', name: 'b' }))
  expect(empty).toMatchObject({
    signer: undefined,
    refreshKid: undefined,
    primaryVersion: undefined,
    publicJwks: [],
  })
})
