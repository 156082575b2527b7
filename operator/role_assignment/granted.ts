import type {
  RoleAssignmentGranted,
  RoleAssignmentServing,
  RoleAssignmentUncounted,
} from '../../crds/role_assignment.gen.ts'

/**
 * What the operator stores of one RoleAssignment, in its row and in `status.granted`: the request of the present
 * generation, as it was when realm, subject and roles first resolved (`resolvedAt`), and the grant in effect
 * (`serving`), which may belong to an earlier generation. Times are RFC 3339 texts.
 */
export type Granted = ResolvedGranted | UnresolvedGranted

export interface ResolvedGranted extends GrantState, Request {}

export interface UnresolvedGranted extends GrantState {
  resolvedAt?: undefined
}

type GrantState = Pick<RoleAssignmentGranted, 'generation' | 'outcome' | 'uncounted' | 'serving'>

/** What a decision on this generation covers. */
export interface Request
  extends
    Required<Pick<RoleAssignmentGranted, 'realmUID' | 'listedRoles' | 'roles' | 'requiredApprovals' | 'resolvedAt'>>,
    Pick<RoleAssignmentGranted, 'subjectUID' | 'sub' | 'expiresAt' | 'durationSeconds' | 'startsOver'> {}

/** The final outcome of a generation; only an edit of spec reopens the request. */
export type Outcome = NonNullable<RoleAssignmentGranted['outcome']>

export type Grant = RoleAssignmentServing
export type UncountedApproval = RoleAssignmentUncounted

/** The schema's bound on `uncounted`. */
export const MAX_UNCOUNTED = 64

/** What is stored, from both places. */
export interface StoredGranted {
  row?: Granted | undefined
  /** From `status.granted`. */
  status?: Granted | undefined
  /**
   * Whether only the operator can have written `status`: always in development; in a cluster only while enforcement
   * had no gap since rows and statuses were last known to agree. The operator ignores an untrusted status.
   */
  statusTrusted: boolean
}

/**
 * The stored state to continue from. The row takes precedence, because only the operator writes rows. A trusted status
 * replaces a row that is missing, or older (a database restored from a backup).
 */
export function latestGranted({ row, status, statusTrusted }: StoredGranted): Granted | undefined {
  if (!statusTrusted || !status) return row
  return row && row.generation >= status.generation ? row : status
}

/** The stored state at a generation. A new generation starts without a request and keeps the grant in effect. */
export function atGeneration(stored: Granted | undefined, generation: number): Granted {
  if (stored?.generation === generation) return stored
  return {
    generation,
    ...(stored?.uncounted && { uncounted: stored.uncounted.filter((approval) => approval.generation >= generation) }),
    ...(stored?.serving && { serving: stored.serving }),
  }
}

/**
 * Reads a stored `granted`. Undefined for anything that this version does not write: decisions do not count when the
 * operator cannot read what they covered.
 */
export function parseGranted(value: unknown): Granted | undefined {
  if (!isRecord(value) || !isPositive(value['generation'])) return undefined
  if (!optional(value['outcome'], (outcome) => ['Denied', 'Ended', 'TimedOut'].includes(String(outcome))))
    return undefined
  if (!optional(value['uncounted'], (list) => Array.isArray(list) && list.every(isUncounted))) return undefined
  if (!optional(value['serving'], isGrant)) return undefined
  if (value['resolvedAt'] !== undefined && !isRequest(value)) return undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the checks above cover every member
  return value as unknown as Granted
}

function isRequest(value: Fields): boolean {
  return (
    hasIds(value) &&
    isTexts(value['listedRoles']) &&
    isTexts(value['roles']) &&
    optional(value['expiresAt'], isTime) &&
    optional(value['durationSeconds'], isPositive) &&
    isPositive(value['requiredApprovals']) &&
    isTime(value['resolvedAt']) &&
    optional(value['startsOver'], isText)
  )
}

function isGrant(value: unknown): boolean {
  return (
    isRecord(value) &&
    isPositive(value['generation']) &&
    hasIds(value) &&
    isTexts(value['roles']) &&
    isTime(value['grantedAt']) &&
    optional(value['expiresAt'], isTime) &&
    typeof value['governed'] === 'boolean' &&
    isTexts(value['approvers']) &&
    optional(value['paused'], (paused) => typeof paused === 'boolean')
  )
}

function hasIds(value: Fields): boolean {
  return isText(value['realmUID']) && optional(value['subjectUID'], isText) && optional(value['sub'], isText)
}

function isUncounted(value: unknown): boolean {
  return isRecord(value) && isText(value['approver']) && isPositive(value['generation']) && isText(value['reason'])
}

type Fields = Record<string, unknown>

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function optional(value: unknown, holds: (value: unknown) => boolean): boolean {
  return value === undefined || holds(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText)
}

function isTime(value: unknown): boolean {
  return isText(value) && !Number.isNaN(Date.parse(value))
}

/** A generation, a count or a number of seconds. */
function isPositive(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1
}
