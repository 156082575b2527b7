import { setTimeout as sleep } from 'node:timers/promises'
import { printable } from '../../../process/printable.ts'
import { APPLY_PATCH } from '../../../kubernetes/api_client.ts'
import { isStatus } from '../../../kubernetes/api_error.ts'
import type { ApiObject } from '../../../kubernetes/api_object.ts'
import { API_VERSION } from '../../../crds/group.ts'
import { objectPath } from '../../../operator/source/cluster/api_names.ts'
import { refusalError } from '../../cluster.ts'
import type { Cluster } from '../../cluster.ts'
import { approvalEntry } from '../approval.ts'
import type { AssignmentRow } from '../assignment_row.ts'
import { PlainError } from '../../../process/plain_error.ts'
import { approverFieldManager } from './field_managers.ts'
import { readAssignment } from './cluster_assignments.ts'
import type { Snapshot } from './cluster_assignments.ts'
import { differenceOf } from './difference.ts'

export interface Decision {
  cluster: Cluster
  /** The caller, as the API server names the account. */
  userName: string
  decision: 'Approved' | 'Denied'
  comment?: string | undefined
  /**
   * Shows a RoleAssignment and its difference from the state that was shown before; resolves with whether to decide.
   * Undefined without a terminal: then a RoleAssignment that has changed is not decided.
   */
  ask?: ((row: AssignmentRow, difference: string[]) => Promise<boolean>) | undefined
  now: () => Date
}

/** `unchanged`: the approver's same decision was recorded before. `declined`: the caller answered no. */
export interface DecidedInCluster {
  outcome: 'recorded' | 'unchanged' | 'declined'
  /** The state that was decided on. */
  row: AssignmentRow
}

const MAX_CONFLICTS = 5
const POLL_MILLIS = 200
/** The operator reconciles a new resource within two seconds. */
const RESOLVE_MILLIS = 6_000

/**
 * Writes the caller's decision on one state of a RoleAssignment by server-side apply: an entry of `status.approvals` that
 * names uid and generation. Admission refuses an entry about another state than the stored one. The caller is then shown
 * the difference and asked again. Throws PlainError.
 */
export async function decideInCluster(options: Decision, first: Snapshot): Promise<DecidedInCluster> {
  const { ask } = options
  let latest = await untilResolved(options, first)
  let difference = differenceOf(first.row, latest.row)
  let isShown = !isSameObject(first.row, latest.row)
  for (;;) {
    const { row } = latest
    if (hasDecided(latest, options)) return { outcome: 'unchanged', row }
    if (options.decision === 'Approved') refuseIneffective(latest)
    if (ask && !(await ask(row, difference))) return { outcome: 'declined', row }
    if (!ask && isShown) throw changed(row, difference)
    isShown = true

    const refusal = await write(options, row)
    if (refusal === undefined) return { outcome: 'recorded', row }
    const present = await readAssignment(options.cluster, row, options.now())
    if (isSameObject(row, present.row)) throw refusalError(`${nameOf(row)} is not decided`, refusal)
    latest = await untilResolved(options, present)
    difference = differenceOf(row, latest.row)
  }
}

function hasDecided({ decisions }: Snapshot, { userName, decision }: Decision): boolean {
  return decisions.some((one) => one.approver === userName && one.decision === decision)
}

/** Refuses an approval without effect: only an edit of the spec opens a decided assignment again. Throws PlainError. */
function refuseIneffective({ row, decisions }: Snapshot): void {
  const denied = decisions.find(({ decision }) => decision === 'Denied')
  const isVoid = row.state === 'waiting' && row.noneCounts !== undefined
  const isFinal = isVoid || row.state === 'expired' || FINAL_REASONS.has(row.ready?.reason ?? '')
  if (!denied && !isFinal) return
  const why = denied ? `denied by ${printable(denied.approver)}` : `${row.ready?.reason}: ${row.ready?.message}`
  throw new PlainError(`${nameOf(row)} is not approved (${why}); only an edit of its spec opens it again`)
}

const FINAL_REASONS = new Set(['Denied', 'RealmReplaced', 'SubjectReplaced'])

/**
 * Waits until the operator has resolved realm, subject and roles. Before that, the composed roles are unknown, and an
 * approval would be void and could not be repeated for the same generation. A denial counts at any time.
 */
async function untilResolved({ cluster, decision, now }: Decision, first: Snapshot): Promise<Snapshot> {
  if (decision === 'Denied') return first
  let latest = first
  for (let waited = 0; !isReadyToApprove(latest.row); waited += POLL_MILLIS) {
    if (waited >= RESOLVE_MILLIS) {
      const { row } = latest
      const why = row.ready ? `${row.ready.reason}: ${row.ready.message}` : 'the operator has not reconciled it'
      throw new PlainError(
        `${nameOf(row)} cannot be approved yet (${why}); an approval would be void now, and could be repeated ` +
          'only after an edit of spec',
      )
    }
    await sleep(POLL_MILLIS)
    latest = await readAssignment(cluster, latest.row, now())
  }
  return latest
}

/** Admission refuses a decision on an assignment that is being deleted. */
function isReadyToApprove({ resolved, state }: AssignmentRow): boolean {
  return resolved || state === 'deleting'
}

/** Undefined when the decision was written about the shown state; otherwise the error. */
async function write(options: Decision, row: AssignmentRow): Promise<unknown> {
  const { cluster, userName, decision, comment, now } = options
  const entry = approvalEntry(row, { approver: userName, decision, comment }, now())
  const body = {
    apiVersion: API_VERSION,
    kind: 'RoleAssignment',
    metadata: { namespace: row.namespace, name: row.name },
    status: { approvals: [entry] },
  }
  for (let tries = 1; ; tries++) {
    try {
      const object = await cluster.client.object({
        method: 'PATCH',
        path: `${objectPath({ kind: 'RoleAssignment', ...row })}/status`,
        // Takes the approver's entry over from the client that wrote it before.
        query: { fieldManager: approverFieldManager(userName), force: 'true' },
        contentType: APPLY_PATCH,
        body,
      })
      return isAbout(object, row) ? undefined : new PlainError(`${nameOf(row)} was changed during the write`)
    } catch (error) {
      if (!isStatus(error, 409) || tries >= MAX_CONFLICTS) return error
    }
  }
}

/** Without the admission policies, a decision about another state is stored, and does not count. */
function isAbout({ metadata }: ApiObject, { uid, generation }: AssignmentRow): boolean {
  return metadata.uid === uid && metadata.generation === generation
}

function isSameObject(one: AssignmentRow, other: AssignmentRow): boolean {
  return one.uid === other.uid && one.generation === other.generation
}

function changed(row: AssignmentRow, difference: readonly string[]): PlainError {
  return new PlainError(
    [
      `${nameOf(row)} was changed while you decided, so no decision is recorded:`,
      ...difference.map((line) => `  ${line}`),
      `read it (realmkeeper show ${row.name} -n ${row.namespace}) and decide again`,
    ].join('\n'),
  )
}

function nameOf({ namespace, name }: AssignmentRow): string {
  return `RoleAssignment ${namespace}/${name}`
}
