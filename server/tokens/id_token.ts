import { hash, randomUUID } from 'node:crypto'
import type { SigningAlgorithm } from '../../keyring/algorithms.ts'
import { signJws } from '../../keyring/jws.ts'
import type { TokenContent } from './token_content.ts'
import { userClaims } from './user_claims.ts'

/** OpenID Connect Core section 2. It says who logged in, for the client alone: no roles. */
export function signIdToken(content: TokenContent, accessToken: string): string {
  const { realm, client, user, signer, scope } = content
  return signJws(
    { alg: signer.alg, typ: 'JWT', kid: signer.kid },
    {
      iss: realm.issuer,
      sub: user.subject,
      aud: client.clientId,
      azp: client.clientId,
      exp: content.expiresAt,
      iat: content.issuedAt,
      auth_time: content.authTime,
      at_hash: accessTokenHash(accessToken, signer.alg),
      sid: content.sid,
      jti: randomUUID(),
      typ: 'ID',
      acr: '1',
      ...userClaims(user, scope),
    },
    signer.privateKey,
  )
}

/** Section 3.1.3.6: the hash of the signature's algorithm. Ed25519 hashes with SHA-512 (RFC 8032). */
const AT_HASH: Readonly<Record<SigningAlgorithm, string>> = {
  RS256: 'sha256',
  PS256: 'sha256',
  ES256: 'sha256',
  ES384: 'sha384',
  EdDSA: 'sha512',
}

function accessTokenHash(accessToken: string, alg: SigningAlgorithm): string {
  const digest = hash(AT_HASH[alg], accessToken, 'buffer')
  return digest.toString('base64url', 0, digest.length / 2)
}
