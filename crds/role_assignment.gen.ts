// Generated from crds/roleassignments.yaml by "npm run generate". Do not edit.
// Fields with a default are required, because objects are read after defaulting.

/** The requested assignment. */
export interface RoleAssignmentSpec {
  realmRef: RoleAssignmentRealmRef
  subject: RoleAssignmentSubject
  /**
   * Roles of the realm. svc-realm-admin, and _svc_<tag>.selfencrypt and _svc_<tag>.selfdecrypt of an encrypted field, are also allowed.
   *
   * @minItems 1
   * @maxItems 64
   *
   * Items: Name of a role.
   */
  roles: [string, ...string[]]
  /** Reason for the request. Approvers read it. */
  reason?: string
  /**
   * User name of the requester, who cannot decide on this request. It must be the user name of the account that writes spec, unless that account holds the verb request-on-behalf.
   */
  requestedBy: string
  /**
   * User name of the account that writes spec. Admission accepts no other name. Equal to requestedBy, it proves that the requester wrote the request; accounts with the verb request-on-behalf cannot write that. Otherwise, also if it is absent, requestedBy is a claim.
   */
  submittedBy?: string
  /**
   * User names of the accounts that wrote earlier generations of this request (requestedBy and submittedBy). They cannot decide. Admission requires each of them until a generation is granted, and then again from that generation on.
   *
   * Items: User name of an account.
   */
  formerRequesters?: string[]
  /** Time at which the roles end (RFC 3339). */
  expiresAt?: string
  /** Lifetime of the roles, in seconds from the grant. */
  durationSeconds?: number
}
/** The Realm of this resource. Immutable. */
export interface RoleAssignmentRealmRef {
  /** metadata.name of the Realm. */
  name: string
  /**
   * Namespace of the Realm. The Realm must admit the namespace of this resource (spec.allowedNamespaces). Absent means the same namespace.
   */
  namespace?: string
}
/** The user or group that receives the roles. Immutable. */
export interface RoleAssignmentSubject {
  /**
   * User is a User in the namespace of this object. Group is default-roles-<realm> (every user of the realm), allowed only in the Realm's own namespace.
   */
  kind: 'User' | 'Group'
  /** metadata.name of the User, or default-roles-<realm>. */
  name: string
}

/** Decisions of approvers, and the observed state, written by the operator. */
export interface RoleAssignmentStatus {
  /** The generation of spec that this status describes. */
  observedGeneration?: number
  /**
   * Decisions, one entry for each approver. Approvers write the entries; the operator only removes outdated entries.
   */
  approvals?: RoleAssignmentApproval[]
  granted?: RoleAssignmentGranted
  /** Approvers write Approved and Denied; the operator writes Ready. */
  conditions?: RoleAssignmentCondition[]
}
/** One decision. */
export interface RoleAssignmentApproval {
  /** User name of the approver, who writes the entry. */
  approver: string
  /** Approved or Denied. One Denied denies the request. */
  decision: 'Approved' | 'Denied'
  /** metadata.generation of the object that the approver saw. The decision counts only for this generation. */
  observedGeneration: number
  /** metadata.uid of the object that the approver saw. The decision counts only for this uid. */
  observedUID: string
  /** Comment of the approver. */
  comment?: string
  /** Time of the decision as the approver states it. The audit log uses the operator's clock. */
  decidedAt?: string
}
/**
 * The operator's record of the request and its grant. resolvedAt is absent until realm, subject and roles of this generation are found.
 */
export interface RoleAssignmentGranted {
  /** The generation that this record describes. serving may come from a former generation. */
  generation: number
  /** metadata.uid of the Realm. */
  realmUID?: string
  /** metadata.uid of the User; absent for a Group. */
  subjectUID?: string
  /** The sub of the User; absent for a Group. */
  sub?: string
  /**
   * The roles that spec lists in this generation.
   *
   * Items: Name of a role.
   */
  listedRoles?: string[]
  /**
   * The roles with their composites at resolvedAt, without roles that the realm removed later. A decision covers these roles.
   *
   * Items: Name of a role.
   */
  roles?: string[]
  /** Expiry that the request asks for. Absent means no expiry, or the expiry that durationSeconds sets. */
  expiresAt?: string
  /** Lifetime of the roles that the request asks for, in seconds from the grant. */
  durationSeconds?: number
  /** Number of approvals that this generation requires, the highest value that the realm set since resolvedAt. */
  requiredApprovals?: number
  /** Time at which realm, subject and roles were first found. */
  resolvedAt?: string
  /**
   * Reason why no decision on this generation counts. RealmReplaced and SubjectReplaced mean another object with the same name. DecisionUnproven means other content with the same generation, or a spec that may have been written while the admission policies were not in force.
   */
  startsOver?: 'RealmReplaced' | 'SubjectReplaced' | 'DecisionUnproven'
  /** The final outcome of this generation. Ended means an expired grant, TimedOut an undecided request. */
  outcome?: 'Denied' | 'Ended' | 'TimedOut'
  /** Approvals that do not count for the generation that they name. */
  uncounted?: RoleAssignmentUncounted[]
  serving?: RoleAssignmentServing
}
/** One approval. */
export interface RoleAssignmentUncounted {
  /** User name of the approver. */
  approver: string
  /** The generation that the approval names. */
  generation: number
  /**
   * DecidedTooEarly means that realm, subject or roles were not found when the operator read the decision. DecisionUnproven means that the admission policies were not in force.
   */
  reason: 'DecidedTooEarly' | 'DecisionUnproven'
}
/** The grant in force. Changes of spec and realm can reduce it; only a new grant extends it. */
export interface RoleAssignmentServing {
  /** The generation that was granted. */
  generation: number
  /** metadata.uid of the Realm. */
  realmUID: string
  /** metadata.uid of the User; absent for a Group. */
  subjectUID?: string
  /** The sub of the User; absent for a Group. */
  sub?: string
  /**
   * The roles that are served.
   *
   * Items: Name of a role.
   */
  roles: string[]
  /** Time of the grant. */
  grantedAt: string
  /** Expiry of the grant. Absent means no expiry. */
  expiresAt?: string
  /** Whether approvers decided on this grant. */
  governed: boolean
  /**
   * The approvers of this grant. Empty if no approval was required.
   *
   * Items: User name of an approver.
   */
  approvers: string[]
  /** Whether the grant is suspended because the realm or the subject is missing. */
  paused?: boolean
}
/** One condition, as metav1.Condition. */
export interface RoleAssignmentCondition {
  /** Type of the condition. */
  type: string
  /** Status of the condition. */
  status: 'True' | 'False' | 'Unknown'
  /** Reason as a stable CamelCase constant. */
  reason: string
  /** Explanation in plain text. */
  message?: string
  /** The generation of spec that the condition describes. */
  observedGeneration?: number
  /** When the status of the condition last changed. */
  lastTransitionTime?: string
  /** User name of the approver, on Approved and Denied. */
  decidedBy?: string
  /** metadata.uid of the object that the approver saw, on Approved and Denied. */
  observedUID?: string
}

/** A request to assign roles of a realm to a user, or to all users of the realm. Approvers record their decisions in its status. */
export interface RoleAssignment<Metadata = { name: string; namespace: string }> {
  apiVersion: 'realmkeeper.io/v1beta1'
  kind: 'RoleAssignment'
  metadata: Metadata
  spec: RoleAssignmentSpec
  status?: RoleAssignmentStatus
}
