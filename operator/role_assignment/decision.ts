import type { RoleAssignmentSubject } from '../../crds/role_assignment.gen.ts'
import type { AuditEntry } from '../../store/audit.ts'
import type { DecisionRow } from '../../store/operator/decisions.ts'
import type { GrantedRole, GrantSubject } from '../../store/role_assignments.ts'
import type { DefinedRoles } from '../realm/expand_roles.ts'
import type { ObjectMeta } from '../source/resource.ts'
import type { RealmForResource } from '../view/view.ts'
import type { Granted, StoredGranted } from './granted.ts'
import type { SpecState } from './spec_state.ts'
import type { StatusDecision } from './status_decisions.ts'

/** Everything that `decide` depends on, as plain data. */
export interface DecisionInput {
  assignment: Assignment
  /** From status, of every uid and generation; see `statusDecisions`. */
  decisions: readonly StatusDecision[]
  /** Decisions recorded as rows for this uid, of every generation. */
  recorded: readonly RecordedDecision[]
  stored: StoredGranted
  /** `proven` in development. */
  spec: SpecState
  realm: RealmForAssignment
  /** The User that the subject names; undefined for a Group. */
  user?: UserForAssignment | undefined
  enforcement: Enforcement
  now: Date
}

export interface Assignment extends Pick<ObjectMeta, 'uid' | 'generation' | 'namespace' | 'name'> {
  /** Whether it has a deletionTimestamp. */
  deleting: boolean
  /** Nothing new is granted while it is paused, and everything that ends ends. */
  paused?: boolean
  subject: RoleAssignmentSubject
  roles: readonly string[]
  requestedBy: string
  submittedBy?: string | undefined
  formerRequesters?: readonly string[] | undefined
  /** RFC 3339. */
  expiresAt?: string | undefined
  /** Counted from the grant. */
  durationSeconds?: number | undefined
}

export type RecordedDecision = Pick<DecisionRow, 'assignmentUid' | 'generation' | 'approver' | 'decision'>

export type RealmForAssignment =
  | ({ admitted: true; uid: string; namespace: string; name: string; governance: Governance } & DefinedRoles)
  | Extract<RealmForResource, { admitted: false }>

export interface Governance {
  enabled: boolean
  requiredApprovals: number
  extraApprovalForClaims?: boolean | undefined
  pendingTimeoutSeconds?: number | undefined
}

/** A User of the assignment's namespace that is not being deleted and is registered as `sub` in the realm `realmUid`. */
export interface UserForAssignment {
  uid: string
  sub: string
  realmUid: string
}

/** Whether the admission policies restrict who may decide. */
export interface Enforcement {
  /**
   * `enforced`: a live read that began after the decisions were read found the policies in force. `gap`: the policies
   * are not in force. `unchecked`: the operator does not know; new decisions wait. `development`: there is no
   * admission, and the operator alone applies the rules.
   */
  mode: 'development' | 'enforced' | 'gap' | 'unchecked'
  /** `--require-approval-enforcement`: without `enforced`, grant nothing new. */
  required: boolean
}

/** What `decide` concludes. The reconciler writes it. */
export interface DecisionResult {
  ready: Ready
  /** For the row and for `status.granted`. */
  granted: Granted
  /** The subject of `roles`; undefined when there are none. */
  grantee?: GrantSubject
  /** All rows that this assignment has in `granted_roles`. */
  roles: GrantedRole[]
  /** To record in one transaction with rows and audit. */
  newDecisions: DecisionRow[]
  /** Transitions; each is also an Event. Empty when rows are rebuilt. */
  audit: AuditNote[]
  /** Approvers whose entries in `status.approvals` name another generation or uid. */
  dropApprovals: string[]
  /** When time alone changes the result. */
  requeueAt?: Date
}

export interface Ready {
  status: 'True' | 'False'
  reason: Reason
  message: string
}

/** Stable names, part of the API. `Deleting` lasts only until the API server removes the object. */
export type Reason =
  | 'Granted'
  | 'GrantedUngoverned'
  | 'PendingApproval'
  | 'QuorumNotReached'
  | 'Denied'
  | 'Expired'
  | 'RealmNotFound'
  | 'NamespaceNotAllowed'
  | 'RoleNotFound'
  | 'SubjectNotFound'
  | 'SubjectReplaced'
  | 'RealmReplaced'
  | 'DecidedTooEarly'
  | 'DecisionUnproven'
  | 'ApprovalNotEnforced'
  | 'Paused'
  | 'Deleting'

export type AuditNote = Pick<AuditEntry, 'action' | 'details'>
