/**
 * What the operator remembers of one RoleAssignment: `status.granted`, and the same in its row. It is a snapshot of
 * the present generation, taken when realm, subject and roles were first all found (`resolvedAt`), beside what is
 * being served, which may stem from a former generation. Times are RFC 3339 texts.
 */
export type Granted = ResolvedGranted | UnresolvedGranted

export interface ResolvedGranted extends Remembered, Request {}

export interface UnresolvedGranted extends Remembered {
  resolvedAt?: undefined
}

interface Remembered {
  generation: number
  /** The last word on this generation, which nothing but an edit turns back. */
  outcome?: Outcome
  /** Approvals that do not count, with the generation that they name. */
  uncounted?: Uncounted[]
  serving?: Serving
}

/** Denied by an approver, ended (the roles' own time is over), or timed out undecided. */
export type Outcome = 'Denied' | 'Ended' | 'TimedOut'

/** What a decision on this generation covers. */
export interface Request {
  realmUID: string
  /** Both absent for a Group. */
  subjectUID?: string
  sub?: string
  /** As in spec, sorted. */
  listedRoles: string[]
  /** With all that they were composed of, less what the realm took away since. */
  roles: string[]
  expiresAt?: string
  durationSeconds?: number
  /** The most that the realm asked for since `resolvedAt`. */
  requiredApprovals: number
  resolvedAt: string
  /** Why no decision on this generation counts any more. */
  startsOver?: 'RealmReplaced' | 'SubjectReplaced' | 'DecisionUnproven'
}

export interface Uncounted {
  approver: string
  generation: number
  reason: 'DecidedTooEarly' | 'DecisionUnproven'
}

/** A grant as it stands. */
export interface Serving {
  /** The generation that was granted. */
  generation: number
  realmUID: string
  subjectUID?: string
  sub?: string
  roles: string[]
  grantedAt: string
  expiresAt?: string
  /** False when nobody had to decide. */
  governed: boolean
  approvers: string[]
  /** True while realm or subject is missing: nothing is served, nothing is forgotten. */
  paused?: boolean
}

/** At most so many entries of `uncounted`; the schema has the same bound. */
export const MAX_UNCOUNTED = 64

/**
 * Reads what was remembered. Undefined for anything else than this version writes: an unreadable memory is none, so
 * that decisions whose extent is no longer known do not count.
 */
export function parseGranted(value: unknown): Granted | undefined {
  if (!isRecord(value) || !isGeneration(value['generation'])) return undefined
  if (!optional(value['outcome'], (outcome) => ['Denied', 'Ended', 'TimedOut'].includes(String(outcome))))
    return undefined
  if (!optional(value['uncounted'], (list) => Array.isArray(list) && list.every(isUncounted))) return undefined
  if (!optional(value['serving'], isServing)) return undefined
  if (value['resolvedAt'] !== undefined && !isRequest(value)) return undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every member was looked at
  return value as unknown as Granted
}

function isRequest(value: Fields): boolean {
  return (
    isText(value['realmUID']) &&
    optional(value['subjectUID'], isText) &&
    optional(value['sub'], isText) &&
    isTexts(value['listedRoles']) &&
    isTexts(value['roles']) &&
    optional(value['expiresAt'], isTime) &&
    optional(value['durationSeconds'], isGeneration) &&
    isGeneration(value['requiredApprovals']) &&
    isTime(value['resolvedAt']) &&
    optional(value['startsOver'], isText)
  )
}

function isServing(value: unknown): boolean {
  return (
    isRecord(value) &&
    isGeneration(value['generation']) &&
    isText(value['realmUID']) &&
    optional(value['subjectUID'], isText) &&
    optional(value['sub'], isText) &&
    isTexts(value['roles']) &&
    isTime(value['grantedAt']) &&
    optional(value['expiresAt'], isTime) &&
    typeof value['governed'] === 'boolean' &&
    isTexts(value['approvers']) &&
    optional(value['paused'], (paused) => typeof paused === 'boolean')
  )
}

function isUncounted(value: unknown): boolean {
  return isRecord(value) && isText(value['approver']) && isGeneration(value['generation']) && isText(value['reason'])
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

/** Also good for counts and seconds: a whole number above zero. */
function isGeneration(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1
}
