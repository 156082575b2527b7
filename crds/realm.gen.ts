// Generated from crds/realms.yaml by "npm run generate". Do not edit.
// Fields with a default are required, because objects are read after defaulting.

/** The desired state of the realm. */
export interface RealmSpec {
  /**
   * Name of the realm in URLs and in the issuer, a DNS label. It defaults to metadata.name. Immutable; master and admin are reserved.
   */
  realm?: string
  /** Display name of the realm. */
  displayName?: string
  /** Whether the realm serves requests. A disabled realm answers 403 and keeps its data. */
  enabled: boolean
  /**
   * Roles of this realm. svc-realm-admin, default-roles-<realm> and the two roles of each encrypted field always exist and are not listed.
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
   * Whether the keyring is kept or deleted with the Realm. Without the keyring, its ciphertexts can never be decrypted. Changing it to Delete requires the verb approve on this Realm; so does deleting a Realm with identityGovernance.
   */
  deletionPolicy: 'Retain' | 'Delete'
}
/** One role. */
export interface RealmRole {
  /**
   * Name of the role in tokens. Names that begin with _svc_ or default-roles-, and the name svc-realm-admin, are reserved.
   */
  name: string
  /** Purpose of the role. */
  description?: string
  /**
   * Roles of this realm that a holder of this role also holds. Reserved roles are not allowed here.
   *
   * Items: Name of a role.
   */
  composites?: string[]
}
/** Lifetimes and signature algorithm of tokens. */
export interface RealmTokens {
  /** Lifetime of an access token, in seconds. */
  accessTokenLifetimeSeconds: number
  /** Idle lifetime of a session, in seconds. Each refresh restarts it. */
  refreshTokenLifetimeSeconds: number
  /** Maximum lifetime of a session, in seconds, including all refreshes. */
  sessionLifetimeSeconds: number
  /**
   * Seconds in which the previous refresh token still returns its successor, so that a client can retry after a lost response. With 0, a second use of a refresh token ends the session.
   */
  refreshTokenReuseGraceSeconds: number
  /**
   * Algorithm of new signing keys for access and ID tokens. After a change, the previous key verifies until the last token that it signed has expired.
   */
  signingAlgorithm: 'RS256' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA'
  /** Tokens issued before this time (RFC 3339) are invalid. Set it to the present time to invalidate all tokens. */
  notBefore?: string
}
/**
 * Locks a user name after wrong passwords. The lock lasts waitIncrementSeconds times (failures / maxFailures, rounded down), at most maxWaitSeconds.
 */
export interface RealmBruteForceProtection {
  /** Whether wrong passwords are counted. */
  enabled: boolean
  /** Wrong passwords before the first lock. */
  maxFailures: number
  /** Seconds by which each further maxFailures wrong passwords extend the lock. */
  waitIncrementSeconds: number
  /** The longest lock, in seconds. Every lock ends by itself. */
  maxWaitSeconds: number
  /** Seconds without a wrong password after which the count restarts. */
  failureResetSeconds: number
}
/**
 * Parameters of argon2id for new password hashes. A hash with other parameters is renewed at the user's next login.
 */
export interface RealmPasswordHashing {
  /** Memory of one hash in KiB. OWASP lists 7168 with 5 iterations as a minimum configuration. */
  memoryKiB: number
  /** Number of passes over the memory. */
  iterations: number
  /** Number of lanes of one hash. More than 1 uses several threads for one login. */
  parallelism: number
}
/**
 * Declares the realm's identity provider and its license, a precondition of field encryption. No login uses it.
 */
export interface RealmIdentityProvider {
  /** Name of the identity provider. */
  alias: string
  licenseSecretRef?: RealmLicenseSecretRef
}
/** The Secret with the license, in the Realm's namespace. */
export interface RealmLicenseSecretRef {
  /** Name of the Secret. */
  name: string
  /** Entry of the Secret with the license, a compact JWS. */
  key: string
}
/** Approval rules for the role assignments of this realm. */
export interface RealmIdentityGovernance {
  /**
   * Whether each role assignment requires approval. Assignments of svc-realm-admin and of the field encryption roles always require it. Disabling it requires the verb approve on this Realm.
   */
  enabled: boolean
  /** Number of different approvers who must approve. Lowering it requires the verb approve on this Realm. */
  requiredApprovals: number
  /**
   * Whether a role assignment requires one approver more (16 at most) if its requestedBy is a claim: if submittedBy is absent or another name. Disabling it requires the verb approve on this Realm.
   */
  extraApprovalForClaims: boolean
  /**
   * Seconds after which an undecided request expires. An edit reopens it. Absent means that requests do not expire.
   */
  pendingTimeoutSeconds?: number
}
/**
 * Data fields that clients may encrypt and decrypt. Encryption requires a licensed identity provider, enabled governance and a granted assignment of svc-realm-admin.
 */
export interface RealmFieldEncryption {
  /**
   * The fields. Each field has two roles, _svc_<tag>.selfencrypt and _svc_<tag>.selfdecrypt. The tag and binding of a field, and the field of a tag, are permanent.
   */
  fields?: RealmField[]
}
/** One field. */
export interface RealmField {
  /** Name of the field in requests. */
  name: string
  /**
   * Name of the field in its roles. It defaults to the name in lower case if the name consists of letters, digits and underscores.
   */
  tag?: string
  /**
   * Who can decrypt a value. Realm allows every holder of the decrypt role. Subject allows only the user who encrypted the value; that user must have a fixed spec.subject.
   */
  binding: 'Realm' | 'Subject'
  /** Maximum size of a value, in bytes. */
  maxValueBytes: number
}
/** Rotation periods of keys. */
export interface RealmKeyRotation {
  /** Days between rotations of the signing key and of the key for refresh tokens. */
  signingKeyPeriodDays: number
  /** Days between rotations of the encryption key. Former versions still decrypt. */
  encryptionKeyPeriodDays: number
}
/** The namespaces whose Clients, Users and RoleAssignments may refer to this Realm. */
export interface RealmAllowedNamespaces {
  /**
   * Same means the Realm's own namespace, All means every namespace, Selector means namespaces with matching labels.
   */
  from: 'Same' | 'All' | 'Selector'
  selector?: RealmNamespaceSelector
}
/** Label selector for namespaces. All requirements must match; an empty selector matches every namespace. */
export interface RealmNamespaceSelector {
  /** Required labels and their values. */
  matchLabels?: {
    /** Value of the label. */
    [k: string]: string
  }
  /** Requirements on labels. */
  matchExpressions?: RealmMatchExpression[]
}
/** One requirement on a label. */
export interface RealmMatchExpression {
  /** Key of the label. */
  key: string
  /** Comparison operator. */
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  /**
   * Values for In and NotIn.
   *
   * Items: Value of the label.
   */
  values?: string[]
}

/** The observed state, written by the operator. */
export interface RealmStatus {
  /** The generation of spec that this status describes. */
  observedGeneration?: number
  /** The issuer (iss) of the realm's tokens. */
  issuer?: string
  /**
   * Roles that every user of the realm holds through assignments to default-roles-<realm>.
   *
   * Items: Name of a role.
   */
  defaultRoles?: string[]
  /** The encrypted fields and their roles. */
  encryptionFields?: RealmEncryptionField[]
  keys?: RealmKeys
  /**
   * Ready, KeysReady, LicenseValid, GovernanceEnabled, RealmAdminAssigned, ApprovalEnforced, GovernanceConfirmed, FieldEncryptionReady.
   */
  conditions?: RealmCondition[]
}
/** One field. */
export interface RealmEncryptionField {
  /** Name of the field in requests. */
  name: string
  /** Name of the field in its roles. */
  tag: string
  /** Role, and scope, that allows encryption. */
  encryptRole: string
  /** Role, and scope, that allows decryption. */
  decryptRole: string
}
/** The keys of the realm's keyring, without any key material. */
export interface RealmKeys {
  /** Keys that sign access and ID tokens. */
  signing?: RealmSigningKey[]
  /** Keys that authenticate refresh tokens. */
  refresh?: RealmRefreshKey[]
  /** Every known version of the encryption key. */
  encryption?: RealmEncryptionKey[]
}
/** One signing key. */
export interface RealmSigningKey {
  /** Key id, the RFC 7638 thumbprint of the public key. */
  kid: string
  /** JWS algorithm. */
  algorithm: string
  /** pending is published and not yet used, active signs, passive only verifies. */
  state: 'pending' | 'active' | 'passive'
  /** Fingerprint of the private key, in hexadecimal digits. */
  fingerprint?: string
  /** Time at which the key entered this state. */
  since?: string
}
/** One key for refresh tokens. */
export interface RealmRefreshKey {
  /** Key id. */
  kid: string
  /** pending is not yet used, active creates tokens, passive only verifies them. */
  state: 'pending' | 'active' | 'passive'
  /** Fingerprint of the key, in hexadecimal digits. */
  fingerprint?: string
  /** Time at which the key entered this state. */
  since?: string
}
/** One version. */
export interface RealmEncryptionKey {
  /** The version that ciphertexts name. */
  version: number
  /**
   * pending can decrypt, primary encrypts, decrypt_only only decrypts, disabled is kept but not used, destroyed is deleted permanently.
   */
  state: 'pending' | 'primary' | 'decrypt_only' | 'disabled' | 'destroyed'
  /** Fingerprint of the key, in hexadecimal digits. */
  fingerprint: string
  /** Time at which the key entered this state. */
  since?: string
}
/** One condition, as metav1.Condition. */
export interface RealmCondition {
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

/** A realm is a set of users, clients and roles with its own issuer, signing keys and encryption keys. */
export interface Realm<Metadata = { name: string; namespace: string }> {
  apiVersion: 'realmkeeper.io/v1beta1'
  kind: 'Realm'
  metadata: Metadata
  spec: RealmSpec
  status?: RealmStatus
}
