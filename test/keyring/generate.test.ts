import { expect, test } from 'vitest'
import { generateEncryptionKey, generateRefreshKey, generateSigningKey } from '../../keyring/generate.ts'
import { SIGNING_ALGORITHMS } from '../../keyring/jws.ts'
import { KEY_SHAPES, readPrivateJwk } from '../../keyring/signing_jwk.ts'
import { START } from './sample_keyring.ts'

test.each(SIGNING_ALGORITHMS)('a key for %s is pending, whole, and has no member but its own', async (alg) => {
  const key = await generateSigningKey(alg, START)
  const shape = KEY_SHAPES[alg]
  expect(key).toMatchObject({ alg, state: 'pending', createdAt: '2030-01-01T00:00:00.000Z' })
  expect(await readPrivateJwk(key.jwk, 'key', alg, key.kid)).toEqual(key.jwk)
  const members = ['kty', ...(shape.crv ? ['crv'] : []), ...shape.publicMembers, ...shape.privateMembers]
  expect(Object.keys(key.jwk).toSorted()).toEqual(members.toSorted())
})

test('symmetric keys are 32 bytes, pending, and another one each time', () => {
  const keys = [
    generateRefreshKey(START),
    generateRefreshKey(START),
    generateEncryptionKey(5, START),
    generateEncryptionKey(5, START),
  ]
  for (const { key, state } of keys) {
    expect(Buffer.from(String(key), 'base64url')).toHaveLength(32)
    expect(state).toBe('pending')
  }
  expect(new Set(keys.map(({ key }) => key)).size).toBe(4)
  expect(generateEncryptionKey(5, START).version).toBe(5)
})
