import { approvedByAnn, approvedByCondition, done, edited, resolvedRequest } from '../legitimate.ts'
import type { Stored, World } from '../world.ts'
import { applyStatus, condition, entry, jsonStatus, mergeLax, mergeStatus, pathOf } from '../writes.ts'
import { REFUSALS } from './attack.ts'
import type { Attack } from './attack.ts'

/** Decisions of approvers with missing members, or about another name, generation or uid. */
export const MISSTATED: Attack[] = [
  {
    name: 'an entry under another name',
    refusal: REFUSALS.otherAuthor,
    async run(world) {
      const request = await resolvedRequest(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'amy')] })
    },
  },
  {
    name: 'an entry under another name together with the caller’s own entry',
    refusal: REFUSALS.otherAuthor,
    async run(world) {
      const request = await resolvedRequest(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann'), entry(request, 'ben')] })
    },
  },
  {
    name: 'an entry under the caller’s own name in another letter case',
    refusal: REFUSALS.otherAuthor,
    async run(world) {
      const request = await resolvedRequest(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'Ann')] })
    },
  },
  {
    name: 'a denial under another name',
    refusal: REFUSALS.otherAuthor,
    async run(world) {
      const request = await resolvedRequest(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'amy', { decision: 'Denied' })] })
    },
  },
  {
    name: 'a condition under another name',
    refusal: REFUSALS.decidedBy,
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'amy')] })
    },
  },
  ...wrongCondition('decidedBy', REFUSALS.decidedBy, undefined),
  ...wrongCondition('observedGeneration', REFUSALS.seen, undefined, 0, 2),
  ...wrongCondition('observedUID', REFUSALS.seen, undefined, 'of-another-object'),
  ...wrongCondition('status', REFUSALS.plainTrue, 'False', 'Unknown'),
  ...wrongCondition('reason', 'should be at least 1 chars long', ''),
  ...wrongCondition('reason', 'Required value', undefined),
  {
    name: 'a condition with an empty reason, through a version without a schema',
    refusal: REFUSALS.plainTrue,
    async run(world) {
      const request = await world.request()
      const conditions = [condition(request, 'dora', { reason: '' })]
      return mergeLax(world.who('dora'), request, { status: { conditions } })
    },
  },
  ...wrongCondition('status', 'Unsupported value', 'true'),
  ...[{ observedGeneration: 2 }, { observedGeneration: 1_000_000 }, { observedUID: 'of-another-object' }].map(
    (overrides) => ({
      name: `an entry with ${JSON.stringify(overrides)}`,
      refusal: REFUSALS.seen,
      async run(world: World) {
        const request = await resolvedRequest(world)
        return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann', overrides)] })
      },
    }),
  ),
  {
    name: 'an entry without a uid',
    refusal: 'observedUID: Required value',
    async run(world) {
      const request = await resolvedRequest(world)
      const { observedUID: _, ...rest } = entry(request, 'ann')
      return mergeStatus(world.who('ann'), request, { approvals: [rest] })
    },
  },
  {
    name: 'an entry with an unknown decision',
    refusal: 'Unsupported value',
    async run(world) {
      const request = await resolvedRequest(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann', { decision: 'approved' })] })
    },
  },
  {
    name: 'an approval of a spec that was edited meanwhile',
    refusal: REFUSALS.seen,
    async run(world) {
      const seen = await resolvedRequest(world)
      await edited(world, seen)
      return applyStatus(world.who('ann'), seen, { approvals: [entry(seen, 'ann')] })
    },
  },
  {
    name: 'an approval of an object that was deleted and created again meanwhile',
    refusal: REFUSALS.seen,
    async run(world) {
      const seen = await world.request()
      await done(world.who('gitops').call('DELETE', pathOf(seen)))
      await world.request({ metadata: { name: seen.metadata.name }, spec: { roles: ['auditor'] } })
      return mergeStatus(world.who('ann'), seen, { conditions: [condition(seen, 'ann')] })
    },
  },
  {
    name: 'an old approval carried over to the present generation by another approver',
    refusal: REFUSALS.otherAuthor,
    async run(world) {
      const request = await edited(world, await approvedByAnn(world))
      const replace = { op: 'replace', path: '/status/approvals/0/observedGeneration', value: 2 }
      return jsonStatus(world.who('amy'), request, [replace])
    },
  },
  {
    name: 'Approved and Denied together',
    refusal: REFUSALS.oneOf,
    async run(world) {
      const request = await world.request()
      const conditions = [condition(request, 'ann'), condition(request, 'ann', { type: 'Denied' })]
      return mergeStatus(world.who('ann'), request, { conditions })
    },
  },
  {
    name: 'Denied together with the Approved of another approver',
    refusal: REFUSALS.oneOf,
    async run(world) {
      const request = await approvedByCondition(world)
      const add = { op: 'add', path: '/status/conditions/-', value: condition(request, 'amy', { type: 'Denied' }) }
      return jsonStatus(world.who('amy'), request, [add])
    },
  },
  {
    name: 'two entries by one approver',
    refusal: 'Duplicate value',
    async run(world) {
      const request = await resolvedRequest(world)
      const approvals = [entry(request, 'ann'), entry(request, 'ann', { decision: 'Denied' })]
      return mergeStatus(world.who('ann'), request, { approvals })
    },
  },
  {
    name: 'two entries by one approver, through a version without the key of the list',
    refusal: REFUSALS.oneEntry,
    async run(world) {
      const request = await resolvedRequest(world)
      const approvals = [entry(request, 'dora'), entry(request, 'dora', { comment: 'twice' })]
      return mergeLax(world.who('dora'), request, { status: { approvals } })
    },
  },
]

/** A condition Approved with one wrong member, once for each value. */
function wrongCondition(member: string, refusal: string, ...values: unknown[]): Attack[] {
  return values.map((value) => ({
    name: `a condition with ${member}: ${value === undefined ? 'nothing' : JSON.stringify(value)}`,
    refusal,
    async run(world: World) {
      const request = await world.request()
      const wrong: Stored = condition(request, 'ann', { [member]: value })
      return mergeStatus(world.who('ann'), request, { conditions: [wrong] })
    },
  }))
}
