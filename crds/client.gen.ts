// Generated from crds/clients.yaml by "npm run generate". Do not edit.
// Fields with a default are required, because objects are read after defaulting.

/** The desired state of the client. */
export interface ClientSpec {
  realmRef: ClientRealmRef
  /** OAuth client_id, unique in the realm. Immutable. */
  clientId: string
  /** Display name of the client. */
  name?: string
  /** Description of the client. */
  description?: string
  /** Whether the client can authenticate. Tokens of a disabled client are invalid. */
  enabled: boolean
  /** Confidential clients hold a secret; Public clients have none. */
  type: 'Confidential' | 'Public'
  clientSecret?: ClientSecret
  /**
   * Allowed redirect URIs, compared as exact strings.
   *
   * Items: An absolute URI without wildcard, fragment or user part. The scheme is https, http on a loopback host, or a private-use scheme with a dot (RFC 8252).
   */
  redirectUris?: string[]
  /**
   * Origins that browsers may call from (CORS). The value + means the origins of redirectUris.
   *
   * Items: An origin (scheme://host with an optional port, in lower case) or +.
   */
  webOrigins?: string[]
  /** Whether tokens of this client contain all roles of the user. With false, they contain only allowedRoles. */
  fullScopeAllowed: boolean
  /**
   * Roles that tokens of this client may contain, including their composites. Used if fullScopeAllowed is false.
   *
   * Items: Name of a role.
   */
  allowedRoles?: string[]
  /**
   * OAuth grants that the client may use.
   *
   * Items: A grant type.
   */
  grantTypes: ('password' | 'refresh_token')[]
  /**
   * Further audiences (aud) of the client's access tokens, such as ids of other clients. A Client of another namespace must list this client in acceptsTokensFrom.
   *
   * Items: A client id, or the name of another audience.
   */
  audiences?: string[]
  /**
   * Ids of clients in other namespaces that may name this client in their audiences.
   *
   * Items: A client id.
   */
  acceptsTokensFrom?: string[]
  /**
   * Scopes that are always granted. profile and email add their claims to tokens and userinfo.
   *
   * Items: A scope name.
   */
  defaultScopes: string[]
  /**
   * Scopes that are granted on request.
   *
   * Items: A scope name.
   */
  optionalScopes?: string[]
  /** Lifetime of this client's access tokens, in seconds. Absent means the lifetime that the realm sets. */
  accessTokenLifetimeSeconds?: number
  /** The typ header of access tokens. Some frameworks refuse at+jwt by default; use JWT for them. */
  accessTokenType: 'at+jwt' | 'JWT'
}
/** The Realm of this resource. Immutable. */
export interface ClientRealmRef {
  /** metadata.name of the Realm. */
  name: string
  /**
   * Namespace of the Realm. The Realm must admit the namespace of this resource (spec.allowedNamespaces). Absent means the same namespace.
   */
  namespace?: string
}
/**
 * Source of the secret of a Confidential client. Absent means that the operator generates the Secret <metadata.name>-client.
 */
export interface ClientSecret {
  secretRef?: ClientSecretRef
  generate?: ClientGeneratedSecret
  /** Seconds in which the previous client secret stays valid after a rotation. */
  previousValidSeconds: number
}
/** A Secret in the same namespace with the client secret (at least 16 characters). */
export interface ClientSecretRef {
  /** Name of the Secret. */
  name: string
  /** Entry of the Secret with the client secret. */
  key: string
}
/**
 * The operator generates a Secret with the entries client_id, client_secret, issuer and token_endpoint, owned by this Client. Deleting that Secret rotates the client secret.
 */
export interface ClientGeneratedSecret {
  /** Name of the generated Secret. It defaults to <metadata.name>-client. */
  secretName?: string
}

/** The observed state, written by the operator. */
export interface ClientStatus {
  /** The generation of spec that this status describes. */
  observedGeneration?: number
  /** The Secret, in the same namespace, with the client secret in use. */
  secretName?: string
  /** Time until which the previous client secret is valid. */
  previousSecretValidUntil?: string
  /** Ready. */
  conditions?: ClientCondition[]
}
/** One condition, as metav1.Condition. */
export interface ClientCondition {
  /** Type of the condition. */
  type: string
  /** Status of the condition. */
  status: 'True' | 'False' | 'Unknown'
  /** Reason as a stable CamelCase constant. */
  reason: string
  /** Explanation in plain text. */
  message: string
  /** The generation of spec that the condition describes. */
  observedGeneration?: number
  /** When the status of the condition last changed. */
  lastTransitionTime: string
}

/** A client is an application that requests or verifies tokens of a realm. */
export interface Client<Metadata = { name: string; namespace: string }> {
  apiVersion: 'realmkeeper.io/v1beta1'
  kind: 'Client'
  metadata: Metadata
  spec: ClientSpec
  status?: ClientStatus
}
