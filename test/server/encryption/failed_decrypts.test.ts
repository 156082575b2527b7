import { expect, test } from 'vitest'
import { createFailedDecrypts } from '../../../server/encryption/failed_decrypts.ts'

const start = new Date('2030-01-01T00:00:00Z')
const at = (seconds: number): Date => new Date(start.getTime() + seconds * 1000)

test('so many failures a minute, then the rest of that minute', () => {
  const failed = createFailedDecrypts(2)
  failed.count('acme', 'alice', at(0))
  expect(failed.secondsToWait('acme', 'alice', at(1))).toBe(0)
  failed.count('acme', 'alice', at(1))
  expect(failed.secondsToWait('acme', 'alice', at(1))).toBe(59)
  expect(failed.secondsToWait('acme', 'alice', at(59.5))).toBe(1)
  expect(failed.secondsToWait('acme', 'alice', at(60))).toBe(0)
  failed.count('acme', 'alice', at(60))
  expect(failed.secondsToWait('acme', 'alice', at(61))).toBe(0)
})

test('each subject of each realm by itself', () => {
  const failed = createFailedDecrypts(1)
  failed.count('acme', 'alice', at(0))
  expect(failed.secondsToWait('acme', 'bob', at(0))).toBe(0)
  expect(failed.secondsToWait('other', 'alice', at(0))).toBe(0)
})

test('0 is off', () => {
  const failed = createFailedDecrypts(0)
  for (let i = 0; i < 1000; i++) failed.count('acme', 'alice', at(0))
  expect(failed.secondsToWait('acme', 'alice', at(0))).toBe(0)
})

test('a clock that is set back keeps nobody out', () => {
  const failed = createFailedDecrypts(1)
  failed.count('acme', 'alice', at(300))
  expect(failed.secondsToWait('acme', 'alice', at(300))).toBe(60)
  expect(failed.secondsToWait('acme', 'alice', at(0))).toBe(0)
})
