// Generated from crds/realms.yaml by "npm run generate". Do not edit.
// Fields with a default are required, because objects are read after defaulting.

/**
 * What the realm shall be.
 */
export interface RealmSpec {
  /**
   * Name of the realm in URLs and in the issuer, a DNS label. It defaults to metadata.name. Immutable; master and admin are reserved.
   */
  realm?: string
  /**
   * Name of the realm for people.
   */
  displayName?: string
  /**
   * Whether the realm serves requests. A disabled realm answers 403 and keeps everything.
   */
  enabled: boolean
  /**
   * Roles of this realm. svc-realm-admin, default-roles-<realm> and the two roles of each encrypted field exist without being listed.
   *
   * @maxItems 512
   */
  roles?: RealmRole[]
  tokens: RealmTokens
  bruteForceProtection: RealmBruteForceProtection
  passwordHashing: RealmPasswordHashing
  identityProvider?: RealmIdentityProvider
  identityGovernance: RealmIdentityGovernance
  fieldEncryption?: RealmFieldEncryption
  keyRotation: RealmKeyRotation
  allowedNamespaces: RealmAllowedNamespaces
  /**
   * What becomes of the keyring when the Realm is deleted. Once the keyring is gone, nothing that was encrypted with it can be decrypted again.
   */
  deletionPolicy: 'Retain' | 'Delete'
}
/**
 * One role.
 */
export interface RealmRole {
  /**
   * Name of the role, as it stands in tokens. Names that begin with _svc_ or default-roles-, and svc-realm-admin, are reserved.
   */
  name: string
  /**
   * What the role is for.
   */
  description?: string
  /**
   * Roles of this realm that whoever holds this role holds as well. Reserved roles cannot be given this way.
   *
   * @maxItems 64
   *
   * Items: Name of a role.
   */
  composites?: string[]
}
/**
 * Lifetimes and signatures of tokens.
 */
export interface RealmTokens {
  /**
   * How long an access token is good, in seconds.
   */
  accessTokenLifetimeSeconds: number
  /**
   * How long a session lasts without a refresh, in seconds.
   */
  refreshTokenLifetimeSeconds: number
  /**
   * How long a session lasts at most, in seconds, however often it is refreshed.
   */
  sessionLifetimeSeconds: number
  /**
   * For how many seconds the refresh token just replaced still gives the same successor, so that a client whose answer was lost can try again. With 0 a second use ends the session.
   */
  refreshTokenReuseGraceSeconds: number
  /**
   * Algorithm of new signing keys for access and ID tokens. After a change the present key verifies until the last token that it signed has expired.
   */
  signingAlgorithm: 'RS256' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA'
  /**
   * Tokens issued before this time (RFC 3339) are not good. Set it to now to end all of them.
   */
  notBefore?: string
}
/**
 * How long a user name is locked after wrong passwords. The wait is waitIncrementSeconds times (failures / maxFailures), rounded down, and at most maxWaitSeconds.
 */
export interface RealmBruteForceProtection {
  /**
   * Whether wrong passwords are counted at all.
   */
  enabled: boolean
  /**
   * Wrong passwords after which the first wait begins.
   */
  maxFailures: number
  /**
   * Seconds by which the wait grows with each further maxFailures wrong passwords.
   */
  waitIncrementSeconds: number
  /**
   * The longest wait, in seconds. A lock always ends by itself.
   */
  maxWaitSeconds: number
  /**
   * Seconds without a wrong password after which the count starts again.
   */
  failureResetSeconds: number
}
/**
 * Parameters of argon2id for password hashes made from now on. A hash with other parameters is renewed at the user's next login.
 */
export interface RealmPasswordHashing {
  /**
   * Memory of one hash in KiB. OWASP names 7168 with 5 iterations as one of its minimum choices.
   */
  memoryKiB: number
  /**
   * Passes over the memory.
   */
  iterations: number
  /**
   * Lanes of one hash. More than 1 uses several threads for one login.
   */
  parallelism: number
}
/**
 * Declares the realm's identity provider and its license, a precondition of field encryption. No login runs through it.
 */
export interface RealmIdentityProvider {
  /**
   * Name of the identity provider.
   */
  alias: string
  licenseSecretRef?: RealmLicenseSecretRef
}
/**
 * The Secret that holds the license, in the Realm's namespace.
 */
export interface RealmLicenseSecretRef {
  /**
   * Name of the Secret.
   */
  name: string
  /**
   * The entry of the Secret that is the license, a compact JWS.
   */
  key: string
}
/**
 * How role assignments of this realm are decided.
 */
export interface RealmIdentityGovernance {
  /**
   * Whether each role assignment needs approval. Those of svc-realm-admin and of the field encryption roles need it always. To disable it needs the verb approve on this Realm.
   */
  enabled: boolean
  /**
   * How many different approvers have to approve. To lower it needs the verb approve on this Realm.
   */
  requiredApprovals: number
  /**
   * Seconds after which an undecided request expires until it is edited. Absent means that it never does.
   */
  pendingTimeoutSeconds?: number
}
/**
 * Data fields that clients may encrypt and decrypt here. It starts when the identity provider is licensed, governance is enabled and an assignment of svc-realm-admin is granted.
 */
export interface RealmFieldEncryption {
  /**
   * The fields. Each brings two roles, _svc_<tag>.selfencrypt and _svc_<tag>.selfdecrypt. A field keeps its tag and binding for ever, and a tag its field.
   *
   * @maxItems 64
   */
  fields?: RealmField[]
}
/**
 * One field.
 */
export interface RealmField {
  /**
   * Name of the field, as callers send it.
   */
  name: string
  /**
   * Name of the field in its roles. It defaults to the name in lower case, where the name is made of letters, digits and underscores only.
   */
  tag?: string
  /**
   * Who can decrypt a value: with Realm whoever holds the decrypting role, with Subject only the user who encrypted it (who needs a fixed spec.subject).
   */
  binding: 'Realm' | 'Subject'
  /**
   * The largest value, in bytes.
   */
  maxValueBytes: number
}
/**
 * How often new keys are made.
 */
export interface RealmKeyRotation {
  /**
   * Days after which a new signing key, and a new key for refresh tokens, takes over.
   */
  signingKeyPeriodDays: number
  /**
   * Days after which a new encryption key takes over. Former ones still decrypt.
   */
  encryptionKeyPeriodDays: number
}
/**
 * From which namespaces Clients, Users and RoleAssignments may refer to this Realm.
 */
export interface RealmAllowedNamespaces {
  /**
   * Same is the Realm's own namespace, All is every one, Selector is those that match.
   */
  from: 'Same' | 'All' | 'Selector'
  selector?: RealmNamespaceSelector
}
/**
 * Labels that a namespace has to have. All parts have to match; an empty one matches every namespace.
 */
export interface RealmNamespaceSelector {
  /**
   * Labels with their values.
   */
  matchLabels?: {
    /**
     * Value of the label.
     */
    [k: string]: string
  }
  /**
   * Requirements on labels.
   *
   * @maxItems 32
   */
  matchExpressions?: RealmMatchExpression[]
}
/**
 * One requirement.
 */
export interface RealmMatchExpression {
  /**
   * Key of the label.
   */
  key: string
  /**
   * How the label is compared.
   */
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  /**
   * Values for In and NotIn.
   *
   * @maxItems 32
   *
   * Items: Value of the label.
   */
  values?: string[]
}

/**
 * What the operator made of it.
 */
export interface RealmStatus {
  /**
   * The generation of spec that this status is about.
   */
  observedGeneration?: number
  /**
   * The issuer (iss) of the realm's tokens.
   */
  issuer?: string
  /**
   * What every user of the realm holds, by assignments to default-roles-<realm>.
   *
   * @maxItems 1024
   *
   * Items: Name of a role.
   */
  defaultRoles?: string[]
  /**
   * The encrypted fields and the roles that open them.
   *
   * @maxItems 64
   */
  encryptionFields?: RealmEncryptionField[]
  keys?: RealmKeys
  /**
   * Ready, KeysReady, LicenseValid, GovernanceEnabled, RealmAdminAssigned, ApprovalEnforced, FieldEncryptionReady.
   *
   * @maxItems 32
   */
  conditions?: RealmCondition[]
}
/**
 * One field.
 */
export interface RealmEncryptionField {
  /**
   * Name of the field, as callers send it.
   */
  name: string
  /**
   * Name of the field in its roles.
   */
  tag: string
  /**
   * The role, and scope, that encrypts.
   */
  encryptRole: string
  /**
   * The role, and scope, that decrypts.
   */
  decryptRole: string
}
/**
 * The keys of the realm's keyring, without any key material.
 */
export interface RealmKeys {
  /**
   * Keys that sign access and ID tokens.
   *
   * @maxItems 256
   */
  signing?: RealmSigningKey[]
  /**
   * Keys that authenticate refresh tokens.
   *
   * @maxItems 256
   */
  refresh?: RealmRefreshKey[]
  /**
   * Every version of the encryption key ever seen.
   *
   * @maxItems 1024
   */
  encryption?: RealmEncryptionKey[]
}
/**
 * One signing key.
 */
export interface RealmSigningKey {
  /**
   * Key id, the RFC 7638 thumbprint of the public key.
   */
  kid: string
  /**
   * JWS algorithm.
   */
  algorithm: string
  /**
   * pending is published and not yet used, active signs, passive only verifies.
   */
  state: 'pending' | 'active' | 'passive'
  /**
   * Fingerprint of the private key, in hexadecimal digits.
   */
  fingerprint?: string
  /**
   * Since when it is in this state.
   */
  since?: string
}
/**
 * One key for refresh tokens.
 */
export interface RealmRefreshKey {
  /**
   * Key id.
   */
  kid: string
  /**
   * pending is not yet used, active makes tokens, passive only checks them.
   */
  state: 'pending' | 'active' | 'passive'
  /**
   * Fingerprint of the key, in hexadecimal digits.
   */
  fingerprint?: string
  /**
   * Since when it is in this state.
   */
  since?: string
}
/**
 * One version.
 */
export interface RealmEncryptionKey {
  /**
   * The version, as it stands in ciphertexts.
   */
  version: number
  /**
   * pending can decrypt, primary encrypts, decrypt_only only decrypts, disabled is kept and not used, destroyed is gone for good.
   */
  state: 'pending' | 'primary' | 'decrypt_only' | 'disabled' | 'destroyed'
  /**
   * Fingerprint of the key, in hexadecimal digits.
   */
  fingerprint: string
  /**
   * Since when it is in this state.
   */
  since?: string
}
/**
 * One condition, as metav1.Condition.
 */
export interface RealmCondition {
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

/** A realm: users, clients and roles that belong together, with an issuer, signing keys and encryption keys of their own. */
export interface Realm<Metadata = { name: string; namespace: string }> {
  apiVersion: 'realmkeeper.io/v1alpha1'
  kind: 'Realm'
  metadata: Metadata
  spec: RealmSpec
  status?: RealmStatus
}
