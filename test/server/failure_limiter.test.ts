import { beforeEach, expect, test } from 'vitest'
import { createFailureLimiter } from '../../server/failure_limiter.ts'

const start = new Date('2030-01-01T00:00:00Z')
let time = start
const now = (): Date => time
const at = (seconds: number): void => void (time = new Date(start.getTime() + seconds * 1000))
beforeEach(() => at(0))

test('refuses after so many failures in a minute, for the rest of that minute', () => {
  const limiter = createFailureLimiter(2, now)
  limiter.count('a')
  at(1)
  expect(limiter.secondsToWait('a')).toBe(0)
  limiter.count('a')
  expect(limiter.secondsToWait('a')).toBe(59)
  at(20)
  expect(limiter.secondsToWait('a')).toBe(40)
  at(59.9)
  expect(limiter.secondsToWait('a')).toBe(1)
  at(60)
  expect(limiter.secondsToWait('a')).toBe(0)
  limiter.count('a')
  at(61)
  expect(limiter.secondsToWait('a')).toBe(0)
})

test('counts each key separately', () => {
  const limiter = createFailureLimiter(1, now)
  limiter.count('a')
  expect(limiter.secondsToWait('a')).toBe(60)
  expect(limiter.secondsToWait('b')).toBe(0)
})

test('does not count a failure that is taken back', () => {
  const limiter = createFailureLimiter(1, now)
  for (let times = 0; times < 5; times++) limiter.count('a')()
  expect(limiter.secondsToWait('a')).toBe(0)
  limiter.count('a')
  expect(limiter.secondsToWait('a')).toBe(60)
})

test('a failure of a closed window that is taken back does not change the next window', () => {
  const limiter = createFailureLimiter(1, now)
  const takeBack = limiter.count('a')
  at(61)
  limiter.count('a')
  takeBack()
  expect(limiter.secondsToWait('a')).toBe(60)
})

test('a limit of 0 is off', () => {
  const limiter = createFailureLimiter(0, now)
  for (let times = 0; times < 1000; times++) limiter.count('a')
  expect(limiter.secondsToWait('a')).toBe(0)
})

test('a clock that is set back does not extend a window', () => {
  const limiter = createFailureLimiter(1, now)
  at(3600)
  limiter.count('a')
  expect(limiter.secondsToWait('a')).toBe(60)
  at(0)
  expect(limiter.secondsToWait('a')).toBe(0)
  limiter.count('a')
  expect(limiter.secondsToWait('a')).toBe(60)
})

test('holds a bounded number of keys, the newest', () => {
  const limiter = createFailureLimiter(1, now)
  for (let key = 0; key < 100_001; key++) limiter.count(`key ${key}`)
  expect(limiter.secondsToWait('key 100000')).toBe(60)
  expect(limiter.secondsToWait('key 0')).toBe(0)
})
