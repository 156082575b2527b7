import { setTimeout as sleep } from 'node:timers/promises'
import { printable } from '../../../process/printable.ts'
import { APPLY_PATCH } from '../../../kubernetes/api_client.ts'
import { isStatus } from '../../../kubernetes/api_error.ts'
import type { ApiObject } from '../../../kubernetes/api_object.ts'
import { API_VERSION } from '../../../crds/group.ts'
import { objectPath } from '../../../operator/source/cluster/api_names.ts'
import { timeText } from '../../../operator/source/directory/state/stored_object.ts'
import type { Cluster } from '../../kubeconfig.ts'
import type { AssignmentRow } from '../assignment_row.ts'
import { DecisionError } from '../decision_error.ts'
import { approverFieldManager } from './caller.ts'
import { readAssignment } from './cluster_assignments.ts'
import type { Seen } from './cluster_assignments.ts'
import { differenceOf } from './difference.ts'
import { refusalError } from './refusal.ts'

export interface Decision {
  cluster: Cluster
  /** As the API server calls the caller. */
  userName: string
  decision: 'Approved' | 'Denied'
  comment?: string | undefined
  /**
   * Shows a RoleAssignment, and what is different from what was shown before; resolves with whether to decide on it.
   * Undefined where nobody can be asked: then one that has changed is not decided on.
   */
  ask?: ((row: AssignmentRow, difference: string[]) => Promise<boolean>) | undefined
  now: () => Date
}

/** `unchanged`: the same decision of the same approver stood there already. `declined`: asked, and answered with no. */
export interface DecidedInCluster {
  outcome: 'recorded' | 'unchanged' | 'declined'
  /** What was decided on, as it was seen. */
  row: AssignmentRow
}

const CONFLICT_TRIES = 5
const LOOK_MILLIS = 200
/** A resource that was just applied is reconciled within two seconds. */
const RESOLVE_MILLIS = 6_000

/**
 * Writes the caller's decision on a RoleAssignment as it was seen: one entry of `status.approvals` that names its uid
 * and generation, by server-side apply. Admission refuses one about anything else than what is stored; then the
 * difference is shown and the caller asked again. Throws DecisionError.
 */
export async function decideInCluster(options: Decision, first: Seen): Promise<DecidedInCluster> {
  const { ask } = options
  let seen = await untilResolved(options, first)
  let difference = differenceOf(first.row, seen.row)
  let isShown = !isSameObject(first.row, seen.row)
  for (;;) {
    const { row } = seen
    if (hasDecided(seen, options)) return { outcome: 'unchanged', row }
    if (options.decision === 'Approved') refuseVain(seen)
    if (ask && !(await ask(row, difference))) return { outcome: 'declined', row }
    if (!ask && isShown) throw changed(row, difference)
    isShown = true

    const refusal = await write(options, row)
    if (refusal === undefined) return { outcome: 'recorded', row }
    const present = await readAssignment(options.cluster, row, options.now())
    if (isSameObject(row, present.row)) throw refusalError(`${nameOf(row)} is not decided`, refusal)
    seen = await untilResolved(options, present)
    difference = differenceOf(row, seen.row)
  }
}

function hasDecided({ standing }: Seen, { userName, decision }: Decision): boolean {
  return standing.some((one) => one.approver === userName && one.decision === decision)
}

/** What an edit alone opens again: an approval would be written, and change nothing. Throws DecisionError. */
function refuseVain({ row, standing }: Seen): void {
  const denied = standing.find(({ decision }) => decision === 'Denied')
  const over = row.state === 'expired' || OVER.has(row.ready?.reason ?? '')
  if (!denied && !over) return
  const why = denied ? `denied by ${printable(denied.approver)}` : `${row.ready?.reason}: ${row.ready?.message}`
  throw new DecisionError(`${nameOf(row)} is not approved (${why}); only an edit of its spec opens it again`)
}

const OVER = new Set(['Denied', 'RealmReplaced', 'SubjectReplaced'])

/**
 * Waits for the operator to find realm, subject and roles. An approval made before that is void, and cannot be made
 * again on the same generation; and what the roles are composed of is not known yet. A denial is heard at any time.
 */
async function untilResolved({ cluster, decision, now }: Decision, first: Seen): Promise<Seen> {
  if (decision === 'Denied') return first
  let seen = first
  for (let waited = 0; !isReadyToApprove(seen.row); waited += LOOK_MILLIS) {
    if (waited >= RESOLVE_MILLIS) {
      const { row } = seen
      const why = row.ready ? `${row.ready.reason}: ${row.ready.message}` : 'the operator has not looked at it'
      throw new DecisionError(
        `${nameOf(row)} cannot be approved yet (${why}); an approval made now would be void, and would need an edit ` +
          'of spec to be made again',
      )
    }
    await sleep(LOOK_MILLIS)
    seen = await readAssignment(cluster, seen.row, now())
  }
  return seen
}

/** What is over or being deleted is admission's to refuse, or the operator's to explain. */
function isReadyToApprove({ resolved, state }: AssignmentRow): boolean {
  return resolved || state === 'deleting'
}

/** Undefined when it was written on what was seen, else why not. */
async function write(options: Decision, row: AssignmentRow): Promise<unknown> {
  const { cluster, userName, decision, comment, now } = options
  const entry = {
    approver: userName,
    decision,
    observedGeneration: row.generation,
    observedUID: row.uid,
    ...(comment !== undefined && comment !== '' && { comment }),
    decidedAt: timeText(now()),
  }
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
        // The entry is the approver's own, whatever they wrote it with before.
        query: { fieldManager: approverFieldManager(userName), force: 'true' },
        contentType: APPLY_PATCH,
        body,
      })
      return isAbout(object, row) ? undefined : new DecisionError(`${nameOf(row)} was changed meanwhile`)
    } catch (error) {
      if (!isStatus(error, 409) || tries >= CONFLICT_TRIES) return error
    }
  }
}

/** Without the admission policies a decision about something else is written all the same, and does not count. */
function isAbout({ metadata }: ApiObject, { uid, generation }: AssignmentRow): boolean {
  return metadata.uid === uid && metadata.generation === generation
}

function isSameObject(one: AssignmentRow, other: AssignmentRow): boolean {
  return one.uid === other.uid && one.generation === other.generation
}

function changed(row: AssignmentRow, difference: readonly string[]): DecisionError {
  return new DecisionError(
    [
      `${nameOf(row)} was changed while you decided, and is not decided:`,
      ...difference.map((line) => `  ${line}`),
      `look at it (realmkeeper show ${row.name} -n ${row.namespace}), and decide again`,
    ].join('\n'),
  )
}

function nameOf({ namespace, name }: AssignmentRow): string {
  return `RoleAssignment ${namespace}/${name}`
}
