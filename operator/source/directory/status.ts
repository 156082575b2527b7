import type { StatusPatch } from '../resource_source.ts'
import { canonicalText } from '../../../process/canonical_json.ts'
import { timeText } from './held_object.ts'
import type { HeldStatus } from './held_object.ts'

/**
 * The status after a patch of the operator's, or undefined when nothing changes. `lastTransitionTime` moves only when
 * a condition's status does (metav1.Condition). Decisions of approvers are left as they are, but for dropped entries.
 */
export function patchedStatus(status: HeldStatus | undefined, patch: StatusPatch, now: Date): HeldStatus | undefined {
  const before = status ?? {}
  const after: HeldStatus = { ...before, observedGeneration: patch.observedGeneration }

  const conditions = [...(before.conditions ?? [])]
  for (const wanted of patch.conditions) {
    const index = conditions.findIndex(({ type }) => type === wanted.type)
    const present = conditions[index]
    const lastTransitionTime = present?.status === wanted.status ? present.lastTransitionTime : timeText(now)
    const condition = { observedGeneration: patch.observedGeneration, ...wanted, lastTransitionTime }
    if (present) conditions[index] = condition
    else conditions.push(condition)
  }
  if (conditions.length > 0) after.conditions = conditions

  for (const [member, value] of Object.entries(patch.fields ?? {})) {
    if (value === undefined) delete after[member]
    else after[member] = value
  }

  if (patch.removeApprovals && after.approvals) {
    after.approvals = after.approvals.filter(({ approver }) => !patch.removeApprovals?.includes(approver))
    if (after.approvals.length === 0) delete after.approvals
  }
  return canonicalText(after) === canonicalText(before) ? undefined : after
}
