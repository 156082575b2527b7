// Generated from crds/users.yaml by "npm run generate". Do not edit.
// Fields with a default are required, because objects are read after defaulting.

/** The desired state of the user. */
export interface UserSpec {
  realmRef: UserRealmRef
  /**
   * Login name, unique in the realm without regard to case. Immutable. Names that begin with system: are reserved.
   */
  username: string
  /** Email address of the user. */
  email?: string
  /** Whether the email address is verified. */
  emailVerified: boolean
  /** Given name. */
  firstName?: string
  /** Family name. */
  lastName?: string
  /** Whether the user can log in. Tokens of a disabled user are invalid. */
  enabled: boolean
  passwordSecretRef?: UserPasswordSecretRef
  /** Further attributes of the user, each with a list of values. */
  attributes?: {
    /**
     * Values of one attribute.
     *
     * Items: One value.
     */
    [k: string]: string[]
  }
  /**
   * The sub of the user's tokens. It defaults to metadata.uid. Fields with the binding Subject require it. Immutable; if it is absent, it may be set to the sub in use, status.subject. Setting it requires the verb set-subject.
   */
  subject?: string
}
/** The Realm of this resource. Immutable. */
export interface UserRealmRef {
  /** metadata.name of the Realm. */
  name: string
  /**
   * Namespace of the Realm. The Realm must admit the namespace of this resource (spec.allowedNamespaces). Absent means the same namespace.
   */
  namespace?: string
}
/** The Secret, in the same namespace, with the password. Absent means that the user cannot log in. */
export interface UserPasswordSecretRef {
  /** Name of the Secret. */
  name: string
  /** Entry of the Secret with the password. One trailing newline is dropped. */
  key: string
}

/** The observed state, written by the operator. */
export interface UserStatus {
  /** The generation of spec that this status describes. */
  observedGeneration?: number
  /** The sub of the user's tokens. */
  subject?: string
  /** Ready. */
  conditions?: UserCondition[]
}
/** One condition, as metav1.Condition. */
export interface UserCondition {
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

/** A user of a realm. Users log in with a password and hold roles. */
export interface User<Metadata = { name: string; namespace: string }> {
  apiVersion: 'realmkeeper.io/v1beta1'
  kind: 'User'
  metadata: Metadata
  spec: UserSpec
  status?: UserStatus
}
