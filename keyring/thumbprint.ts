import { createHash, type JsonWebKey } from 'node:crypto'

/** Members that a thumbprint covers, in the order in which they are hashed (RFC 7638 section 3.2, RFC 8037 section 2). */
const REQUIRED_MEMBERS: Readonly<Record<string, readonly (keyof JsonWebKey)[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
}

/**
 * RFC 7638: base64url of the SHA-256 over the public members; the same for the private and the public key.
 * @throws TypeError for a key type or a member that is missing; names no key material
 */
export function jwkThumbprint(jwk: JsonWebKey): string {
  const members = Object.hasOwn(REQUIRED_MEMBERS, jwk.kty ?? '') ? REQUIRED_MEMBERS[jwk.kty ?? ''] : undefined
  if (!members) throw new TypeError('a thumbprint is defined here for the key types EC, OKP and RSA')
  const hashed: Record<string, string> = {}
  for (const member of members) {
    const value = jwk[member]
    if (typeof value !== 'string') throw new TypeError(`the JWK has no member ${String(member)}`)
    hashed[member] = value
  }
  return createHash('sha256').update(JSON.stringify(hashed)).digest('base64url')
}
