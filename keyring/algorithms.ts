/** Signature algorithms a realm may choose (RFC 7518 section 3.1, RFC 8037 for EdDSA, which here is Ed25519 only). */
export const SIGNING_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/** HS512 is for refresh tokens, which only this installation reads. */
export type JwsAlgorithm = SigningAlgorithm | 'HS512'

/** What a JWK of an algorithm looks like (RFC 7518 section 6, RFC 8037 section 2). Members beyond these are not key material. */
export interface KeyShape {
  kty: 'RSA' | 'EC' | 'OKP'
  crv?: 'P-256' | 'P-384' | 'Ed25519'
  publicMembers: readonly string[]
  privateMembers: readonly string[]
  /** Bytes of each coordinate and of the private scalar; RSA has no fixed one. */
  memberBytes?: number
}

const RSA: KeyShape = {
  kty: 'RSA',
  publicMembers: ['n', 'e'],
  privateMembers: ['d', 'p', 'q', 'dp', 'dq', 'qi'],
}

export const KEY_SHAPES: Readonly<Record<SigningAlgorithm, KeyShape>> = {
  RS256: RSA,
  PS256: RSA,
  ES256: { kty: 'EC', crv: 'P-256', publicMembers: ['x', 'y'], privateMembers: ['d'], memberBytes: 32 },
  ES384: { kty: 'EC', crv: 'P-384', publicMembers: ['x', 'y'], privateMembers: ['d'], memberBytes: 48 },
  EdDSA: { kty: 'OKP', crv: 'Ed25519', publicMembers: ['x'], privateMembers: ['d'], memberBytes: 32 },
}
