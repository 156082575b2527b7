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
 * What the operator remembers. Without resolvedAt, realm, subject and roles were not all found yet in this generation.
 */
export interface RoleAssignmentGranted {
  /**
   * The generation that this is about; serving may stem from a former one.
   */
  generation: number
  /**
   * metadata.uid of the Realm.
   */
  realmUID?: string
  /**
   * metadata.uid of the User; absent for a Group.
   */
  subjectUID?: string
  /**
   * The sub of the User; absent for a Group.
   */
  sub?: string
  /**
   * The roles that spec lists in this generation.
   *
   * @maxItems 64
   *
   * Items: Name of a role.
   */
  listedRoles?: string[]
  /**
   * The roles with all that they are composed of, as they were at resolvedAt, less what the realm took away since. A decision covers these.
   *
   * @maxItems 1024
   *
   * Items: Name of a role.
   */
  roles?: string[]
  /**
   * When the request ends; absent means that it does not, or that durationSeconds says so.
   */
  expiresAt?: string
  /**
   * How long the roles shall last, in seconds from the grant.
   */
  durationSeconds?: number
  /**
   * How many approvals this generation needs, the most that the realm asked for since resolvedAt.
   */
  requiredApprovals?: number
  /**
   * When realm, subject and roles were first all found.
   */
  resolvedAt?: string
  /**
   * Why no decision on this generation counts. RealmReplaced and SubjectReplaced are another object under the same name; DecisionUnproven is another content under the same generation.
   */
  startsOver?: 'RealmReplaced' | 'SubjectReplaced' | 'DecisionUnproven'
  /**
   * The last word on this generation. Ended is a grant whose time is over, TimedOut a request that nobody decided.
   */
  outcome?: 'Denied' | 'Ended' | 'TimedOut'
  /**
   * Approvals that do not count, for the generation that they name.
   *
   * @maxItems 64
   */
  uncounted?: RoleAssignmentUncounted[]
  serving?: RoleAssignmentServing
}
/**
 * One approval.
 */
export interface RoleAssignmentUncounted {
  /**
   * User name of the approver.
   */
  approver: string
  /**
   * The generation that it names.
   */
  generation: number
  /**
   * DecidedTooEarly was seen before realm, subject and roles were all found; DecisionUnproven while admission did not hold approvers to the rules.
   */
  reason: 'DecidedTooEarly' | 'DecisionUnproven'
}
/**
 * The grant as it stands. It shrinks with spec and realm, and grows with a new grant only.
 */
export interface RoleAssignmentServing {
  /**
   * The generation that was granted.
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
   * The roles that are served.
   *
   * @maxItems 1024
   *
   * Items: Name of a role.
   */
  roles: string[]
  /**
   * Since when.
   */
  grantedAt: string
  /**
   * Until when; absent means that it does not end.
   */
  expiresAt?: string
  /**
   * Whether approvers decided on it.
   */
  governed: boolean
  /**
   * Who approved; nobody where nobody had to.
   *
   * @maxItems 32
   *
   * Items: User name of an approver.
   */
  approvers: string[]
  /**
   * Whether nothing is served for the moment, because the realm or the subject is missing.
   */
  paused?: boolean
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
