// Generated from crds/clients.yaml by "npm run generate". Do not edit.
// Fields with a default are required, because objects are read after defaulting.

/**
 * What the client shall be.
 */
export interface ClientSpec {
  realmRef: ClientRealmRef
  /**
   * The client's id in the protocol, unique in the realm. Immutable.
   */
  clientId: string
  /**
   * Name of the client for people.
   */
  name?: string
  /**
   * What the client is.
   */
  description?: string
  /**
   * Whether the client can authenticate. Tokens of a disabled client are not good.
   */
  enabled: boolean
  /**
   * Confidential clients hold a secret, Public ones cannot keep one.
   */
  type: 'Confidential' | 'Public'
  clientSecret?: ClientSecret
  /**
   * Where a login may lead back to, compared character by character.
   *
   * @maxItems 64
   *
   * Items: An absolute URI, without wildcard, fragment or user part; https, http on a loopback host, or a private scheme of a native application (RFC 8252), which has a dot in it.
   */
  redirectUris?: string[]
  /**
   * Origins that browsers may call from (CORS). A + stands for the origins of redirectUris.
   *
   * @maxItems 64
   *
   * Items: An origin, scheme://host with an optional port and nothing after it, in lower case; or +.
   */
  webOrigins?: string[]
  /**
   * Whether tokens of this client carry all roles of the user. With false only allowedRoles.
   */
  fullScopeAllowed: boolean
  /**
   * Roles that tokens of this client may carry, composites included. Used when fullScopeAllowed is false.
   *
   * @maxItems 512
   *
   * Items: Name of a role.
   */
  allowedRoles?: string[]
  /**
   * OAuth grants that the client may use.
   *
   * @maxItems 8
   *
   * Items: One grant.
   */
  grantTypes: ('password' | 'refresh_token')[]
  /**
   * Further audiences (aud) of the client's access tokens beside itself, as other clients' ids. A Client of another namespace has to list this one in acceptsTokensFrom.
   *
   * @maxItems 64
   *
   * Items: A client id, or the name of another audience.
   */
  audiences?: string[]
  /**
   * Ids of clients in other namespaces that may name this one in their audiences.
   *
   * @maxItems 256
   *
   * Items: A client id.
   */
  acceptsTokensFrom?: string[]
  /**
   * Scopes that are always granted. profile and email put their claims into tokens and userinfo.
   *
   * @maxItems 64
   *
   * Items: One scope word.
   */
  defaultScopes: string[]
  /**
   * Scopes that are granted when they are asked for.
   *
   * @maxItems 64
   *
   * Items: One scope word.
   */
  optionalScopes?: string[]
  /**
   * How long this client's access tokens are good, in seconds. Absent means as the realm says.
   */
  accessTokenLifetimeSeconds?: number
  /**
   * The typ header of access tokens. Some frameworks refuse at+jwt unless they are told; JWT suits them.
   */
  accessTokenType: 'at+jwt' | 'JWT'
}
/**
 * The Realm that this belongs to. Immutable.
 */
export interface ClientRealmRef {
  /**
   * metadata.name of the Realm.
   */
  name: string
  /**
   * Namespace of the Realm, which has to admit this one (spec.allowedNamespaces). Absent means the same.
   */
  namespace?: string
}
/**
 * Where the secret of a Confidential client is. Absent means that one is generated into the Secret <metadata.name>-client.
 */
export interface ClientSecret {
  secretRef?: ClientSecretRef
  generate?: ClientGeneratedSecret
  /**
   * For how many seconds the previous client secret stays valid after a rotation.
   */
  previousValidSeconds: number
}
/**
 * A Secret in the same namespace that holds the client secret, of at least 16 characters.
 */
export interface ClientSecretRef {
  /**
   * Name of the Secret.
   */
  name: string
  /**
   * The entry of the Secret that is the client secret.
   */
  key: string
}
/**
 * Generates a Secret with the entries client_id, client_secret, issuer and token_endpoint, owned by this Client. To rotate the client secret, delete it.
 */
export interface ClientGeneratedSecret {
  /**
   * Name of the generated Secret. It defaults to <metadata.name>-client.
   */
  secretName?: string
}

/**
 * What the operator made of it.
 */
export interface ClientStatus {
  /**
   * The generation of spec that this status is about.
   */
  observedGeneration?: number
  /**
   * The Secret, in the same namespace, that holds the client secret in use.
   */
  secretName?: string
  /**
   * Until when the previous client secret is valid.
   */
  previousSecretValidUntil?: string
  /**
   * Ready.
   *
   * @maxItems 32
   */
  conditions?: ClientCondition[]
}
/**
 * One condition, as metav1.Condition.
 */
export interface ClientCondition {
  /**
   * What the condition is about.
   */
  type: string
  /**
   * True, False or Unknown.
   */
  status: 'True' | 'False' | 'Unknown'
  /**
   * Why, as a constant.
   */
  reason: string
  /**
   * Why, for people.
   */
  message: string
  /**
   * The generation of spec that the condition is about.
   */
  observedGeneration?: number
  /**
   * When the status of the condition last changed.
   */
  lastTransitionTime: string
}

/** A client: an application that asks for tokens of a realm and shows them to others. */
export interface Client<Metadata = { name: string; namespace: string }> {
  apiVersion: 'realmkeeper.io/v1alpha1'
  kind: 'Client'
  metadata: Metadata
  spec: ClientSpec
  status?: ClientStatus
}
