import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Proxies write one hop each; earlier hops are ignored. */
const MAX_HOPS = 20

/**
 * The address of the caller: the peer, or the one that a trusted peer writes in X-Forwarded-For. The header is read from
 * its end while the hops are trusted; any caller could have written the hops before the first untrusted one.
 */
export function clientAddresses(trustedProxies: readonly string[]): (req: IncomingMessage) => string {
  const trusted = new BlockList()
  for (const network of trustedProxies) {
    const [address = '', prefix] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) trusted.addAddress(address, family)
    else trusted.addSubnet(address, Number(prefix), family)
  }
  const isTrusted = (address: string): boolean => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

  return (req) => {
    const peer = plainAddress(req.socket.remoteAddress ?? '')
    if (trustedProxies.length === 0 || isIP(peer) === 0 || !isTrusted(peer)) return peer
    return forwardedFor(req.headers['x-forwarded-for'], peer, isTrusted)
  }
}

function forwardedFor(
  header: string | string[] | undefined,
  peer: string,
  isTrusted: (address: string) => boolean,
): string {
  const hops = (typeof header === 'string' ? header : (header?.join(',') ?? '')).split(',').slice(-MAX_HOPS)
  let nearest = peer
  for (const hop of hops.toReversed()) {
    const address = plainAddress(hop.trim())
    if (isIP(address) === 0) return nearest
    nearest = address
    if (!isTrusted(address)) return nearest
  }
  return nearest
}

/** A socket that listens on :: reports an IPv4 peer as ::ffff:192.0.2.1. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}
