import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { clientAddresses } from '../../../server/http/client_address.ts'

const PROXIES = ['10.0.0.0/8', '192.0.2.7', '2001:db8:ffff::/48']

function address(peer: string, forwardedFor: string | undefined, proxies = PROXIES): string {
  const socket = new Socket()
  Object.defineProperty(socket, 'remoteAddress', { value: peer })
  const req = new IncomingMessage(socket)
  if (forwardedFor !== undefined) req.headers['x-forwarded-for'] = forwardedFor
  return clientAddresses(proxies)(req)
}

test.for<[string, string, string | undefined, string]>([
  ['a peer that is no proxy is itself', '203.0.113.1', undefined, '203.0.113.1'],
  ['an untrusted caller with a forged header', '203.0.113.1', '198.51.100.9', '203.0.113.1'],
  ['a proxy without X-Forwarded-For is the caller', '10.1.2.3', undefined, '10.1.2.3'],
  ['a proxy is believed', '10.1.2.3', '198.51.100.9', '198.51.100.9'],
  ['one named alone as well', '192.0.2.7', '198.51.100.9', '198.51.100.9'],
  ['and one in a network of IPv6', '2001:db8:ffff::1', '2001:db8::9', '2001:db8::9'],
  ['as an IPv4 peer of an IPv6 socket', '::ffff:10.1.2.3', '198.51.100.9', '198.51.100.9'],
  ['its neighbour is not', '192.0.2.8', '198.51.100.9', '192.0.2.8'],
  ['of several hops the last that is no proxy counts', '10.1.2.3', '1.1.1.1, 198.51.100.9, 10.9.9.9', '198.51.100.9'],
  ['when all are proxies, the first', '10.1.2.3', '10.7.7.7, 10.9.9.9', '10.7.7.7'],
  ['a hop that is no address ends the trusted part', '10.1.2.3', '198.51.100.9, unknown, 10.9.9.9', '10.9.9.9'],
  ['also at the end', '10.1.2.3', '198.51.100.9, evil', '10.1.2.3'],
  ['an empty header', '10.1.2.3', '', '10.1.2.3'],
  ['a port is no address', '10.1.2.3', '198.51.100.9:80', '10.1.2.3'],
  ['row 26: a thousand hops', '10.1.2.3', `${'198.51.100.9, '.repeat(1000)}203.0.113.5`, '203.0.113.5'],
  ['row 26: a thousand proxies', '10.1.2.3', `198.51.100.9, ${'10.0.0.1, '.repeat(999)}10.0.0.1`, '10.0.0.1'],
])('%s', ([, peer, forwardedFor, expected]) => {
  expect(address(peer, forwardedFor)).toBe(expected)
})

test('without trusted proxies X-Forwarded-For is ignored', () => {
  expect(address('10.1.2.3', '198.51.100.9', [])).toBe('10.1.2.3')
})
