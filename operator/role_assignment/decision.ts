import type { AuditEntry } from '../../store/audit.ts'
import type { DecisionRow } from '../../store/decisions.ts'
import type { GrantedRole, GrantSubject } from '../../store/role_assignments.ts'
import type { Granted } from './granted.ts'
import type { DefinedRoles } from './expand_roles.ts'
import type { StatusDecision } from './status_decisions.ts'

/** Everything that the decision depends on, as plain data. */
export interface DecisionInput {
  assignment: Assignment
  /** What approvers wrote into status, also about other generations and uids; see `statusDecisions`. */
  stated: readonly StatusDecision[]
  /** What is recorded for this uid, of all generations. */
  recorded: readonly RecordedDecision[]
  remembered: Memory
  realm: RealmForAssignment
  /** The User that the subject names; undefined for a Group. */
  user?: UserForAssignment | undefined
  enforcement: Enforcement
  now: Date
}

export interface Assignment {
  uid: string
  generation: number
  namespace: string
  name: string
  /** Whether it has a deletionTimestamp. */
  deleting: boolean
  subject: { kind: 'User' | 'Group'; name: string }
  roles: readonly string[]
  requestedBy: string
  /** RFC 3339. */
  expiresAt?: string | undefined
  /** Counted from the grant. */
  durationSeconds?: number | undefined
}

export type RecordedDecision = Pick<DecisionRow, 'assignmentUid' | 'generation' | 'approver' | 'decision'>

export interface Memory {
  /** From the row. */
  row?: Granted | undefined
  /** From `status.granted`. */
  status?: Granted | undefined
  /**
   * Whether `status` can have been written by the operator alone: always in development; in a cluster only if there
   * was no gap in enforcement since rows and statuses were last known to agree. What is not trusted is ignored.
   */
  statusTrusted: boolean
}

export type RealmForAssignment =
  | ({ admitted: true; uid: string; namespace: string; name: string; governance: Governance } & DefinedRoles)
  | { admitted: false; reason: 'RealmNotFound' | 'NamespaceNotAllowed'; message: string }

export interface Governance {
  enabled: boolean
  requiredApprovals: number
  pendingTimeoutSeconds?: number | undefined
}

/** A User in the assignment's namespace, not being deleted, who is registered under this `sub` in the realm named. */
export interface UserForAssignment {
  uid: string
  sub: string
  realmUid: string
}

/**
 * `enforced`: admission is known, by a live read that began after `stated` was read, to hold approvers to the rules.
 * `gap`: it is known not to. `unchecked`: nothing is known just now; new decisions wait. `development`: there is no
 * admission, and the rules run here alone.
 */
export interface Enforcement {
  mode: 'development' | 'enforced' | 'gap' | 'unchecked'
  /** `--require-approval-enforcement` */
  required: boolean
}

/** What follows. Nothing of it has happened yet: rows, status, audit and Events are the caller's. */
export interface DecisionResult {
  ready: Ready
  /** To be remembered, in the row and in `status.granted`. */
  granted: Granted
  /** Whose rows they are; undefined when there are no roles. */
  grantee?: GrantSubject
  /** The roles that count now, to be all the rows of this assignment. */
  roles: GrantedRole[]
  /** Decisions to record, in one transaction with the rows and the audit. */
  record: DecisionRow[]
  /** Transitions; each is an Event as well. Empty when configuration is merely rebuilt. */
  audit: AuditNote[]
  /** Approvers whose entries in `status.approvals` are about another generation or object. */
  dropApprovals: string[]
  /** When time alone changes the answer. */
  lookAgainAt?: Date
}

export interface Ready {
  status: 'True' | 'False'
  reason: Reason
  message: string
}

/** Stable names, part of the API. `Deleting` is seen for the moment only that an object takes to go. */
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
  | 'Deleting'

export type AuditNote = Pick<AuditEntry, 'action' | 'details'>
