import { describe, expect, test } from 'vitest'
import { addressKey, createLoginLimit } from '../../../server/passwords/rate_limit.ts'

const start = new Date('2030-01-01T00:00:00Z')
const after = (seconds: number): Date => new Date(start.getTime() + seconds * 1000)
const limited = (seconds: string) =>
  expect.objectContaining({ error: 'rate_limited', status: 429, headers: { 'Retry-After': seconds } })

describe('a limit of failed logins', () => {
  test('refuses after so many in a minute, and says for how long', () => {
    const limit = createLoginLimit(2)
    limit.begin('a', start)
    limit.begin('a', after(10))
    expect(() => limit.begin('a', after(20))).toThrow(limited('40'))
    expect(() => limit.begin('a', after(59.9))).toThrow(limited('1'))
    expect(() => limit.begin('b', after(20))).not.toThrow()
    expect(() => limit.begin('a', after(60))).not.toThrow()
  })

  test('does not count what is taken back', () => {
    const limit = createLoginLimit(1)
    for (let times = 0; times < 5; times++) limit.begin('a', start).takeBack()
    limit.begin('a', start)
    expect(() => limit.begin('a', start)).toThrow(limited('60'))
  })

  test('of 0 is none', () => {
    const limit = createLoginLimit(0)
    for (let times = 0; times < 1000; times++) limit.begin('a', start).takeBack()
    expect(() => limit.begin('a', start)).not.toThrow()
  })

  test('keeps nobody out for longer when the clock is set back', () => {
    const limit = createLoginLimit(1)
    limit.begin('a', after(3600))
    expect(() => limit.begin('a', start)).not.toThrow()
  })

  test('remembers a bounded number of keys, the newest', () => {
    const limit = createLoginLimit(1)
    for (let key = 0; key < 100_001; key++) limit.begin(`key ${key}`, start)
    expect(() => limit.begin('key 100000', start)).toThrow()
    expect(() => limit.begin('key 0', start)).not.toThrow()
  })
})

test.for<[string, string]>([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['2001:db8::192.0.2.1', '2001:db8:0:0::/64'],
  ['', ''],
])('%s is counted as %s', ([address, key]) => {
  expect(addressKey(address)).toBe(key)
})
