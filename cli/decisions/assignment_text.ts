import { columns } from '../dev/ready_table.ts'
import { seenVersion } from './approval.ts'
import type { AssignmentRow } from './assignment_row.ts'

/** The table that `pending` prints. */
export function pendingText(rows: AssignmentRow[]): string {
  if (rows.length === 0) return 'no RoleAssignment waits for a decision'
  const table = rows.map((row) => [
    row.namespace,
    row.name,
    subjectOf(row),
    list(row.change.adds),
    requesterOf(row),
    quorumOf(row),
    ageOf(row.ageSeconds),
    row.ready?.reason ?? 'not reconciled yet',
  ])
  const heads = ['NAMESPACE', 'NAME', 'SUBJECT', 'ADDS', 'REQUESTED BY', 'APPROVED', 'AGE', 'WHY']
  return columns([heads, ...table]).join('\n')
}

/** One RoleAssignment with all that an approver needs to decide. */
export function assignmentText(row: AssignmentRow, place: 'cluster' | 'directory' = 'directory'): string {
  const { change, realm, decisions } = row
  const facts = [
    ['RoleAssignment', `${row.namespace}/${row.name}, generation ${row.generation}, ${ageOf(row.ageSeconds)} old`],
    ['seen', seenVersion(row)],
    ...(place === 'cluster' ? [] : [['in', row.file === undefined ? 'no file' : `${row.file}:${row.line ?? 1}`]]),
    ['realm', `${realm.namespace}/${realm.name}`],
    ['subject', subjectOf(row)],
    ['requested by', requesterOf(row)],
    ...(row.formerRequesters.length > 0 ? [['also written by', list(row.formerRequesters)]] : []),
    ['reason', row.reason ?? 'none'],
    ['roles', list(row.roles)],
    ['adds', list(change.adds)],
    ['keeps', list(change.keeps)],
    ['removes', list(change.removes)],
    ['ends', endOf(row)],
    ['approved', quorumOf(row)],
    ['state', row.ready ? `${row.state}: ${row.ready.reason}, ${row.ready.message}` : row.state],
  ]
  const decided = decisions.map(({ approver, decision, decidedAt, comment, notCounted }) => [
    '',
    [
      `${decision} by ${approver}`,
      decidedAt === undefined ? '' : ` at ${decidedAt}`,
      notCounted === undefined ? '' : ` (does not count: ${notCounted})`,
      comment === undefined ? '' : `: ${comment}`,
    ].join(''),
  ])
  return columns([...facts, ...(decided.length > 0 ? [['decisions', ''], ...decided] : [])]).join('\n')
}

function subjectOf({ subject }: AssignmentRow): string {
  return `${subject.kind.toLowerCase()}/${subject.name}`
}

/** The requester, and whether that is a claim. */
export function requesterOf({ requestedBy, claimed, claimedBy, claimedWith }: AssignmentRow): string {
  if (!claimed) return requestedBy
  if (claimedBy !== undefined) return `${requestedBy} (as claimed by ${claimedBy})`
  return `${requestedBy} (${claimedWith === undefined ? 'a claim' : `a claim, written with ${claimedWith}`})`
}

function quorumOf({ quorum }: AssignmentRow): string {
  return `${quorum.approved} of ${quorum.required}`
}

function endOf({ expiresAt, durationSeconds }: AssignmentRow): string {
  if (expiresAt !== undefined) return `at ${expiresAt}`
  return durationSeconds === undefined ? 'never' : `${ageOf(durationSeconds)} after it is granted`
}

function list(names: string[]): string {
  return names.length === 0 ? '-' : names.join(', ')
}

/** As kubectl writes ages: the two largest units at most. */
function ageOf(seconds: number): string {
  const units: [string, number][] = [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
    ['s', 1],
  ]
  const first = units.findIndex(([, size]) => seconds >= size)
  if (first < 0) return '0s'
  let rest = seconds
  return units
    .slice(first, first + 2)
    .map(([name, size]) => {
      const count = Math.floor(rest / size)
      rest -= count * size
      return count === 0 ? '' : `${count}${name}`
    })
    .join('')
}
