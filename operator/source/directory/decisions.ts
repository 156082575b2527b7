import { isObject } from '../../../crds/validation/defaulting.ts'
import { covers } from '../../role_assignment/status_decisions.ts'
import type { Condition } from '../resource.ts'
import { digestOf } from '../../../process/canonical_json.ts'
import { objectOf, timeText } from './held_object.ts'
import type { Approval, HeldObject, HeldStatus } from './held_object.ts'
import type { ResourceManifest } from './manifest.ts'
import type { FieldProblem } from './problem.ts'
import type { Admission } from './schema_checks.ts'

/** A decision as it stands in a file: an entry of `status.approvals`, or a condition `Approved` or `Denied`. */
interface Written {
  path: (string | number)[]
  digest: string
  content: Record<string, unknown>
  as: 'entry' | 'condition'
}

// Far more than a status can hold; beyond it only those that still stand in the file are remembered.
const MAX_SEEN = 256

/** Digests of every decision that stands in a manifest. */
export function decisionDigests(manifest: ResourceManifest): string[] {
  return writtenDecisions(manifest).map((written) => written.digest)
}

/**
 * Takes over the decisions that appeared in a file since it was last looked at, under the rules that admission policies
 * hold in a cluster: it names the uid and generation that are stored, what covers them stays, Approved may become
 * Denied and nothing turns Denied back. Each text is dealt with once; a refused one is reported and stays ignored.
 * `held` has to be the object as it was when the file was read, so that nobody decides on an edit made with it.
 */
export function takeDecisions(
  held: HeldObject,
  manifest: ResourceManifest,
  admission: Admission,
): { object: HeldObject; problems: FieldProblem[] } | undefined {
  if (held.kind !== 'RoleAssignment' || held.deletionTimestamp !== undefined) return undefined
  const written = writtenDecisions(manifest)
  const seen = held.seenDecisions ?? []
  const fresh = written.filter(({ digest }) => !seen.includes(digest))
  if (fresh.length === 0) return undefined

  const problems: FieldProblem[] = []
  let object = held
  for (const decision of fresh) {
    const refusal = refusalOf(decision, object)
    const next = refusal ?? withDecision(decision, object, admission)
    if (typeof next === 'string') problems.push({ path: decision.path, message: next })
    else object = next
  }
  const all = [...seen, ...fresh.map(({ digest }) => digest)]
  const standing = new Set(written.map(({ digest }) => digest))
  const seenDecisions = all.length > MAX_SEEN ? all.filter((digest) => standing.has(digest)) : all
  return { object: { ...object, seenDecisions }, problems }
}

function writtenDecisions(manifest: ResourceManifest): Written[] {
  if (manifest.kind !== 'RoleAssignment' || !isObject(manifest.status)) return []
  const found: Written[] = []
  const add = (as: Written['as'], member: string, content: unknown, index: number) => {
    if (!isObject(content)) return
    if (as === 'condition' && content['type'] !== 'Approved' && content['type'] !== 'Denied') return
    found.push({ as, path: ['status', member, index], digest: digestOf({ [as]: content }), content })
  }
  const { approvals, conditions } = manifest.status
  if (Array.isArray(approvals)) approvals.forEach((entry, index) => add('entry', 'approvals', entry, index))
  if (Array.isArray(conditions)) conditions.forEach((entry, index) => add('condition', 'conditions', entry, index))
  return found
}

function refusalOf({ as, content }: Written, held: HeldObject): string | undefined {
  const status = held.status ?? {}
  if (content['observedUID'] !== held.uid || content['observedGeneration'] !== held.generation) {
    return `not counted: a decision names what was seen, here observedGeneration: ${held.generation} and observedUID: ${held.uid} (realmkeeper approve writes them)`
  }
  if (as === 'entry') {
    const before = status.approvals?.find((entry) => entry.approver === content['approver'] && covers(entry, held))
    if (!before || (before.decision === 'Approved' && content['decision'] === 'Denied')) return undefined
    return `not counted: ${before.approver} has decided (${before.decision}) on this generation; only Approved may become Denied`
  }
  if (content['status'] !== 'True') return 'not counted: Approved and Denied have status "True"'
  if (typeof content['decidedBy'] !== 'string' || content['decidedBy'] === '')
    return 'not counted: decidedBy is missing'
  const before = decisionCondition(status)
  if (!before || !covers(before, held) || (before.type === 'Approved' && content['type'] === 'Denied')) return undefined
  return `not counted: ${before.decidedBy ?? 'somebody'} has decided (${before.type}) on this generation`
}

/** The object with the decision, or why the schema does not take it. */
function withDecision({ as, content }: Written, held: HeldObject, admission: Admission): HeldObject | string {
  const status: HeldStatus = { ...held.status }
  if (as === 'entry') {
    if (!isApproval(content)) return 'not counted: approver and decision (Approved or Denied) are required'
    status.approvals = [...(status.approvals ?? []).filter(({ approver }) => approver !== content.approver), content]
  } else {
    const condition = { message: '', lastTransitionTime: timeText(admission.now()), ...content }
    if (!isCondition(condition)) return 'not counted: type, status and reason are required'
    const others = (status.conditions ?? []).filter(({ type }) => type !== 'Approved' && type !== 'Denied')
    status.conditions = [...others, condition]
  }
  const object = { ...held, status }
  const valid = admission.defaultAndValidate(held.kind, objectOf(object))
  const rules =
    valid.problems.length > 0 ? [] : admission.evaluateRules(held.kind, valid.value, objectOf(held)).problems
  // The rest of the status is the operator's: an approver is not told of it.
  const problem = [...valid.problems, ...rules].find(({ path }) => path[1] === 'approvals' || path[1] === 'conditions')
  return problem ? `not counted: ${problem.path.at(-1) ?? ''} ${problem.message}` : object
}

function decisionCondition(status: HeldStatus): Condition | undefined {
  return status.conditions?.find(({ type }) => type === 'Approved' || type === 'Denied')
}

// The schema checks the rest; these members are what the types and the comparisons above rely on.
function isApproval(content: object): content is Approval {
  if (!('approver' in content) || typeof content.approver !== 'string') return false
  return 'decision' in content && (content.decision === 'Approved' || content.decision === 'Denied')
}

function isCondition(content: object): content is Condition {
  return ['type', 'status', 'reason', 'message', 'lastTransitionTime'].every(
    (member) => typeof Object.entries(content).find(([name]) => name === member)?.[1] === 'string',
  )
}
