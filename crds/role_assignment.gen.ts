// Generated from crds/roleassignments.yaml by "npm run generate". Do not edit.
// Fields with a default are required, because objects are read after defaulting.

/**
 * What is asked for.
 */
export interface RoleAssignmentSpec {
  realmRef: RoleAssignmentRealmRef
  subject: RoleAssignmentSubject
  /**
   * Roles of the realm; also svc-realm-admin, and _svc_<tag>.selfencrypt and _svc_<tag>.selfdecrypt of an encrypted field.
   *
   * @minItems 1
   * @maxItems 64
   *
   * Items: Name of a role.
   */
  roles: [string, ...string[]]
  /**
   * Why the roles are needed, for whoever decides.
   */
  reason?: string
  /**
   * User name of whoever asks, who cannot decide. It has to be the author's own unless they hold the verb request-on-behalf.
   */
  requestedBy: string
  /**
   * When the roles end (RFC 3339).
   */
  expiresAt?: string
  /**
   * How long the roles last, in seconds from the grant.
   */
  durationSeconds?: number
}
/**
 * The Realm that this belongs to. Immutable.
 */
export interface RoleAssignmentRealmRef {
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
 * Who gets the roles. Immutable.
 */
export interface RoleAssignmentSubject {
  /**
   * User is a User in the namespace of this object. Group is default-roles-<realm>, every user of the realm, and can be used in the Realm's own namespace only.
   */
  kind: 'User' | 'Group'
  /**
   * metadata.name of the User, or default-roles-<realm>.
   */
  name: string
}

/**
 * What was decided, and what the operator made of it.
 */
export interface RoleAssignmentStatus {
  /**
   * The generation of spec that this status is about.
   */
  observedGeneration?: number
  /**
   * What approvers decided, one entry each. Approvers write it, the operator only drops outdated ones.
   *
   * @maxItems 16
   */
  approvals?: RoleAssignmentApproval[]
  granted?: RoleAssignmentGranted
  /**
   * Approved and Denied are written by approvers, Ready by the operator.
   *
   * @maxItems 32
   */
  conditions?: RoleAssignmentCondition[]
}
/**
 * One decision.
 */
export interface RoleAssignmentApproval {
  /**
   * User name of the approver, who writes the entry.
   */
  approver: string
  /**
   * Approved or Denied. One Denied denies the request.
   */
  decision: 'Approved' | 'Denied'
  /**
   * metadata.generation that the approver saw. The decision counts for it only.
   */
  observedGeneration: number
  /**
   * metadata.uid that the approver saw. The decision counts for it only.
   */
  observedUID: string
  /**
   * What the approver has to say.
   */
  comment?: string
  /**
   * When, as the approver says. The audit log uses the operator's clock.
   */
  decidedAt?: string
}
/**
 * What the operator remembers of a generation, from the moment at which realm, subject and roles were all found.
 */
export interface RoleAssignmentGranted {
  /**
   * The generation that was resolved.
   */
  generation: number
  /**
   * metadata.uid of the Realm.
   */
  realmUID: string
  /**
   * metadata.uid of the User; absent for a Group.
   */
  subjectUID?: string
  /**
   * The sub of the User; absent for a Group.
   */
  sub?: string
  /**
   * The roles with all that they are composed of, as they were then. A decision covers these.
   *
   * @maxItems 1024
   *
   * Items: Name of a role.
   */
  roles?: string[]
  /**
   * When the request ends; absent means that it does not, or that durationSeconds has not begun.
   */
  expiresAt?: string
  /**
   * How many approvals this generation needs.
   */
  requiredApprovals?: number
  /**
   * When realm, subject and roles were first all found.
   */
  resolvedAt?: string
  /**
   * The roles that are granted at present.
   *
   * @maxItems 1024
   */
  serving?: RoleAssignmentServing[]
}
/**
 * One granted role.
 */
export interface RoleAssignmentServing {
  /**
   * Name of the role.
   */
  role: string
  /**
   * The generation that it was granted for.
   */
  generation: number
  /**
   * Whether approvers decided on it.
   */
  governed?: boolean
  /**
   * Since when.
   */
  grantedAt?: string
  /**
   * Until when; absent means that it does not end.
   */
  expiresAt?: string
}
/**
 * One condition, as metav1.Condition.
 */
export interface RoleAssignmentCondition {
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
  message?: string
  /**
   * The generation of spec that the condition is about.
   */
  observedGeneration?: number
  /**
   * When the status of the condition last changed.
   */
  lastTransitionTime?: string
  /**
   * User name of the approver who wrote it, on Approved and Denied.
   */
  decidedBy?: string
  /**
   * metadata.uid of the object that the approver saw, on Approved and Denied.
   */
  observedUID?: string
}

/** A request to give roles of a realm to a user, or to all its users. Approvers decide on it in its status. */
export interface RoleAssignment<Metadata = { name: string; namespace: string }> {
  apiVersion: 'realmkeeper.io/v1alpha1'
  kind: 'RoleAssignment'
  metadata: Metadata
  spec: RoleAssignmentSpec
  status?: RoleAssignmentStatus
}
