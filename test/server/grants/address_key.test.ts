import { expect, test } from 'vitest'
import { addressKey } from '../../../server/grants/password.ts'

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
])('failed logins from %s are counted as those of %s', ([address, key]) => {
  expect(addressKey(address)).toBe(key)
})
