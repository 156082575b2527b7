import type { Action } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { notBeforeSeconds } from '../tokens/claims.ts'

/** The document that older adapters read instead of discovery and certs. */
export function realmInfo(): Action {
  return async ({ realm }) => ({
    status: 200,
    body: {
      realm: realm.name,
      public_key: await activePublicKey(realm),
      'token-service': `${realm.issuer}/protocol/openid-connect`,
      'tokens-not-before': notBeforeSeconds(realm.row.tokens),
    },
  })
}

/** SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7) of the key that signs, DER in base64. */
async function activePublicKey(realm: ServedRealm): Promise<string> {
  const { signer, verifiers } = realm.keyring()
  const active = signer && verifiers.get(signer.kid)
  if (!active) throw new OAuthError('keyring_unavailable', 'The keys of the realm are not loaded')
  return Buffer.from(await crypto.subtle.exportKey('spki', active.key)).toString('base64')
}
