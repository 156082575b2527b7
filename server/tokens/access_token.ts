import { randomUUID } from 'node:crypto'
import { signJws } from '../../keyring/jws.ts'
import type { TokenContent } from './token_content.ts'
import { userClaims } from './user_claims.ts'

/** RFC 9068, with the claims that Keycloak's adapters read beside it. */
export function signAccessToken(content: TokenContent): string {
  const { realm, client, user, signer, scope, roles } = content
  const { accessTokenType, audiences, webOrigins } = client.settings
  const audience = audiences.filter((other) => other !== client.clientId)
  return signJws(
    { alg: signer.alg, typ: accessTokenType, kid: signer.kid },
    {
      iss: realm.issuer,
      sub: user.subject,
      aud: audience.length === 0 ? client.clientId : [client.clientId, ...audience],
      azp: client.clientId,
      client_id: client.clientId,
      exp: content.expiresAt,
      iat: content.issuedAt,
      jti: randomUUID(),
      sid: content.sid,
      typ: 'Bearer',
      scope: scope.join(' '),
      realm_access: { roles },
      acr: '1',
      'allowed-origins': webOrigins,
      ...userClaims(user, scope),
    },
    signer.privateKey,
  )
}
