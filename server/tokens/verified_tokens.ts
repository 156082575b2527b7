import { createHash, type KeyObject } from 'node:crypto'
import type { AccessTokenClaims } from './access_token_claims.ts'

/** What was once proven of a token's text: which key signed it, and what it says. Whether it is good is decided anew. */
export interface VerifiedToken {
  kid: string
  key: KeyObject
  claims: AccessTokenClaims
}

/** Remembers verified signatures until the token expires. The whole text is the key, so a changed byte is another token. */
export interface VerifiedTokens {
  find(digest: string, now: Date): VerifiedToken | undefined
  remember(digest: string, token: VerifiedToken): void
}

const MAX_REMEMBERED = 10_000

/** One for a process: at most `max` tokens, the oldest go first. */
export function createVerifiedTokens(max: number = MAX_REMEMBERED): VerifiedTokens {
  const remembered = new Map<string, VerifiedToken>()
  return {
    find(digest, now) {
      const token = remembered.get(digest)
      if (!token) return undefined
      if (token.claims.exp * 1000 > now.getTime()) return token
      remembered.delete(digest)
      return undefined
    },
    remember(digest, token) {
      if (remembered.size >= max) dropOldest(remembered)
      remembered.set(digest, token)
    },
  }
}

/** What a token is remembered by; the token itself is not kept. Hashed as UTF-8: as latin1, U+0142 would pass for "B". */
export function tokenDigest(token: string): string {
  return createHash('sha256').update(token, 'utf8').digest('base64')
}

function dropOldest(remembered: Map<string, VerifiedToken>): void {
  for (const digest of remembered.keys()) {
    remembered.delete(digest)
    return
  }
}
