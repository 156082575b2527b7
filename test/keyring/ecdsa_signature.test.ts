import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { derToRaw, rawToDer } from '../../keyring/ecdsa_signature.ts'

const curves = [
  { curve: 'P-256', size: 32, rounds: 600 },
  { curve: 'P-384', size: 48, rounds: 100 },
]

test.each(curves)(
  'converts what OpenSSL signs on $curve as Node itself does, $rounds times',
  ({ curve, size, rounds }) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: curve })
    for (let round = 0; round < rounds; round++) {
      const data = Buffer.from(`message ${round}`)
      const raw = derToRaw(sign('sha256', data, privateKey), size)
      expect(raw).toHaveLength(2 * size)
      expect(verify('sha256', data, { key: publicKey, dsaEncoding: 'ieee-p1363' }, raw)).toBe(true)

      const other = sign('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' })
      expect(verify('sha256', data, publicKey, rawToDer(other, size) ?? Buffer.alloc(0))).toBe(true)
    }
  },
)

test('keeps numbers with leading zeros and with a set high bit', () => {
  for (const [r, s] of [
    ['00'.repeat(31) + '01', 'ff'.repeat(32)],
    ['80' + '00'.repeat(31), '00'.repeat(30) + '0080'],
    ['00'.repeat(32), '00'.repeat(31) + '7f'],
  ] as const) {
    const raw = Buffer.from(r + s, 'hex')
    expect(derToRaw(rawToDer(raw, 32) ?? Buffer.alloc(0), 32)).toEqual(raw)
  }
  expect(rawToDer(Buffer.from('00'.repeat(31) + '01' + 'ff'.repeat(32), 'hex'), 32)?.toString('hex')).toBe(
    `3026020101022100${'ff'.repeat(32)}`,
  )
})

test('refuses another length', () => {
  for (const length of [0, 1, 63, 65, 96, 128]) expect(rawToDer(Buffer.alloc(length, 1), 32)).toBeUndefined()
})

test.each([
  '',
  '30',
  '3000',
  '30060201010201',
  '300602010102010100',
  '3006020101030101',
  '3106020101020101',
  '3006020001020101',
])('refuses %s as DER', (hex) => {
  expect(() => derToRaw(Buffer.from(hex, 'hex'), 32)).toThrow(RangeError)
})
