// Generated from crds/users.yaml by "npm run generate". Do not edit.
// Fields with a default are required, because objects are read after defaulting.

/**
 * Who the user shall be.
 */
export interface UserSpec {
  realmRef: UserRealmRef
  /**
   * The name to log in with, unique in the realm whatever the case of letters. Immutable. Names that begin with system: are reserved.
   */
  username: string
  /**
   * Address of the user.
   */
  email?: string
  /**
   * Whether the address is known to be the user's.
   */
  emailVerified: boolean
  /**
   * Given name.
   */
  firstName?: string
  /**
   * Family name.
   */
  lastName?: string
  /**
   * Whether the user can log in. Tokens of a disabled user are not good.
   */
  enabled: boolean
  passwordSecretRef?: UserPasswordSecretRef
  /**
   * Further facts about the user, each with a list of values.
   */
  attributes?: {
    /**
     * Values of one attribute.
     *
     * @maxItems 32
     *
     * Items: One value.
     */
    [k: string]: string[]
  }
  /**
   * A fixed sub for the user's tokens, which has to be set to use fields bound to the subject. It defaults to metadata.uid. Immutable; it may be set later only to the sub in use, status.subject. To set it needs the verb set-subject.
   */
  subject?: string
}
/**
 * The Realm that this belongs to. Immutable.
 */
export interface UserRealmRef {
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
 * The Secret in the same namespace that holds the password. Absent means that nobody can log in with a password.
 */
export interface UserPasswordSecretRef {
  /**
   * Name of the Secret.
   */
  name: string
  /**
   * The entry of the Secret that is the password. One newline at its end is dropped.
   */
  key: string
}

/**
 * What the operator made of it.
 */
export interface UserStatus {
  /**
   * The generation of spec that this status is about.
   */
  observedGeneration?: number
  /**
   * The sub of the user's tokens.
   */
  subject?: string
  /**
   * Ready.
   *
   * @maxItems 32
   */
  conditions?: UserCondition[]
}
/**
 * One condition, as metav1.Condition.
 */
export interface UserCondition {
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

/** A user of a realm, who logs in with a password and holds roles. */
export interface User<Metadata = { name: string; namespace: string }> {
  apiVersion: 'realmkeeper.io/v1alpha1'
  kind: 'User'
  metadata: Metadata
  spec: UserSpec
  status?: UserStatus
}
