import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Verifier } from '../../keyring/jws.ts'
import type { AccessTokenClaims } from './claims.ts'

/** A token whose signature was verified. Each request decides again whether it is good. */
export interface VerifiedToken {
  kid: string
  /** The key that signed it. */
  key: Verifier['key']
  claims: AccessTokenClaims
}

/** Tokens with verified signatures by `tokenDigest`, until they expire. */
export interface VerifiedTokens {
  get(digest: string): VerifiedToken | undefined
  /** @param length that of the token, in characters */
  set(digest: string, token: VerifiedToken, length: number): void
}

const MAX_TOKENS = 10_000
const MAX_BYTES = 32 * 1024 * 1024

/** Memory of one token, measured with the claims that take the most for the length of their token: short roles. */
const bytesOf = (length: number): number => 1_024 + 2 * length

/** One for a process: at most `max` tokens and `MAX_BYTES` of memory; the least recently used ones are dropped. */
export function createVerifiedTokens(now: () => Date, max: number = MAX_TOKENS): VerifiedTokens {
  const millis = (): number => now().getTime()
  const tokens = new LRUCache<string, VerifiedToken>({
    max,
    maxSize: MAX_BYTES,
    ttl: 1,
    ttlResolution: 0,
    perf: { now: millis },
  })
  return {
    get: (digest) => tokens.get(digest),
    set(digest, token, length) {
      const ttl = token.claims.exp * 1000 - millis()
      // lru-cache reads a ttl of 0 as no expiry.
      if (ttl > 0) tokens.set(digest, token, { ttl, size: bytesOf(length) })
    },
  }
}

/** The key of a token; the token itself is not stored. Hashed as UTF-8: in latin1, U+0142 would have the digest of "B". */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'base64')
}
