import { evaluateRules } from '../../../crds/validation/cel.ts'
import { isObject } from '../../../crds/validation/defaulting.ts'
import { defaultAndValidate } from '../../../crds/validation/validation.ts'
import { digestOf } from '../../../process/canonical_json.ts'
import { covers } from '../../role_assignment/status_decisions.ts'
import type { Condition } from '../resource.ts'
import type { ResourceManifest } from './manifests/manifest.ts'
import type { FieldProblem } from './manifests/problem.ts'
import { objectOf, timeText } from './state/stored_object.ts'
import type { Approval, StoredResource, StoredStatus } from './state/stored_object.ts'

/** A decision in a file: an entry of `status.approvals`, or a condition `Approved` or `Denied`. */
interface FileDecision {
  path: (string | number)[]
  digest: string
  content: Record<string, unknown>
  as: 'entry' | 'condition'
}

// More than a status can hold. Above it, only decisions that are still in the file are remembered.
const MAX_SEEN = 256

/** Digests of every decision in a manifest. */
export function decisionDigests(manifest: ResourceManifest): string[] {
  return fileDecisions(manifest).map(({ digest }) => digest)
}

/**
 * Applies the decisions that are new in a manifest, under the rules that the admission policies enforce in a cluster:
 * a decision names the stored uid and generation, one decision per approver, Approved may become Denied, nothing
 * replaces Denied. Each text is applied or refused once; a refused one stays ignored. `stored` is the object without
 * the edits of the same manifest. Returns undefined when there is no new decision.
 */
export function applyDecisions(
  stored: StoredResource,
  manifest: ResourceManifest,
  now: Date,
): { object: StoredResource; problems: FieldProblem[] } | undefined {
  if (stored.kind !== 'RoleAssignment' || stored.deletionTimestamp !== undefined) return undefined
  const present = fileDecisions(manifest)
  const seen = stored.seenDecisions ?? []
  const added = present.filter(({ digest }) => !seen.includes(digest))
  if (added.length === 0) return undefined

  const problems: FieldProblem[] = []
  let object = stored
  for (const decision of added) {
    const next = refusalOf(decision, object) ?? withDecision(decision, object, now)
    if (typeof next === 'string') problems.push({ path: decision.path, message: `not counted: ${next}` })
    else object = next
  }
  const all = [...seen, ...added.map(({ digest }) => digest)]
  const inFile = new Set(present.map(({ digest }) => digest))
  const seenDecisions = all.length > MAX_SEEN ? all.filter((digest) => inFile.has(digest)) : all
  return { object: { ...object, seenDecisions }, problems }
}

function fileDecisions(manifest: ResourceManifest): FileDecision[] {
  if (manifest.kind !== 'RoleAssignment' || !isObject(manifest.status)) return []
  const found: FileDecision[] = []
  const add = (as: FileDecision['as'], member: string, content: unknown, index: number) => {
    if (!isObject(content)) return
    if (as === 'condition' && content['type'] !== 'Approved' && content['type'] !== 'Denied') return
    found.push({ as, path: ['status', member, index], digest: digestOf({ [as]: content }), content })
  }
  const { approvals, conditions } = manifest.status
  if (Array.isArray(approvals)) approvals.forEach((entry, index) => add('entry', 'approvals', entry, index))
  if (Array.isArray(conditions)) conditions.forEach((entry, index) => add('condition', 'conditions', entry, index))
  return found
}

function refusalOf({ as, content }: FileDecision, stored: StoredResource): string | undefined {
  const status = stored.status ?? {}
  if (content['observedUID'] !== stored.uid || content['observedGeneration'] !== stored.generation) {
    return `a decision names what was seen, here observedGeneration: ${stored.generation} and observedUID: ${stored.uid} (realmkeeper approve writes them)`
  }
  if (as === 'entry') {
    const before = status.approvals?.find((entry) => entry.approver === content['approver'] && covers(entry, stored))
    if (!before || (before.decision === 'Approved' && content['decision'] === 'Denied')) return undefined
    return `${before.approver} has decided (${before.decision}) on this generation; only Approved may become Denied`
  }
  if (content['status'] !== 'True') return 'Approved and Denied have status "True"'
  if (typeof content['decidedBy'] !== 'string' || content['decidedBy'] === '') return 'decidedBy is missing'
  const before = status.conditions?.find(isDecision)
  if (!before || !covers(before, stored)) return undefined
  if (before.type === 'Approved' && content['type'] === 'Denied') return undefined
  return `${before.decidedBy ?? 'another approver'} has decided (${before.type}) on this generation`
}

/** The object with the decision, or why the schema refuses it. */
function withDecision({ as, content }: FileDecision, stored: StoredResource, now: Date): StoredResource | string {
  const status: StoredStatus = { ...stored.status }
  if (as === 'entry') {
    if (!isApproval(content)) return 'approver and decision (Approved or Denied) are required'
    status.approvals = [...(status.approvals ?? []).filter(({ approver }) => approver !== content.approver), content]
  } else {
    const condition = { message: '', lastTransitionTime: timeText(now), ...content }
    if (!isCondition(condition)) return 'type, status and reason are required'
    status.conditions = [...(status.conditions ?? []).filter((each) => !isDecision(each)), condition]
  }
  const object = { ...stored, status }
  const valid = defaultAndValidate(stored.kind, objectOf(object))
  const rules = valid.problems.length > 0 ? [] : evaluateRules(stored.kind, valid.value, objectOf(stored)).problems
  // The operator owns the rest of the status: its problems are not the approver's.
  const problem = [...valid.problems, ...rules].find(({ path }) => path[1] === 'approvals' || path[1] === 'conditions')
  return problem ? `${problem.path.at(-1) ?? ''} ${problem.message}` : object
}

function isDecision({ type }: { type: string }): boolean {
  return type === 'Approved' || type === 'Denied'
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
