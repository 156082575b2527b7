import { approvedByAnn, approvedByCondition, done, edited, lookedAt } from '../legitimate.ts'
import type { Stored, World } from '../world.ts'
import { applyStatus, condition, entry, jsonStatus, mergeLax, mergeStatus, pathOf } from '../writes.ts'
import { SAID } from './attack.ts'
import type { Attack } from './attack.ts'

/** Decisions of approvers that do not say what they have to, or say it of something else. */
export const MISSTATED: Attack[] = [
  {
    name: 'an entry under another name',
    said: SAID.otherAuthor,
    async run(world) {
      const request = await lookedAt(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'amy')] })
    },
  },
  {
    name: 'an entry under another name beside one’s own',
    said: SAID.otherAuthor,
    async run(world) {
      const request = await lookedAt(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann'), entry(request, 'ben')] })
    },
  },
  {
    name: 'an entry under one’s own name in other case',
    said: SAID.otherAuthor,
    async run(world) {
      const request = await lookedAt(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'Ann')] })
    },
  },
  {
    name: 'a denial under another name',
    said: SAID.otherAuthor,
    async run(world) {
      const request = await lookedAt(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'amy', { decision: 'Denied' })] })
    },
  },
  {
    name: 'a condition under another name',
    said: SAID.decidedBy,
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'amy')] })
    },
  },
  ...stated('decidedBy', SAID.decidedBy, undefined),
  ...stated('observedGeneration', SAID.seen, undefined, 0, 2),
  ...stated('observedUID', SAID.seen, undefined, 'of-another-object'),
  ...stated('status', SAID.plainTrue, 'False', 'Unknown'),
  ...stated('reason', 'should be at least 1 chars long', ''),
  ...stated('reason', 'Required value', undefined),
  {
    name: 'a condition with an empty reason, through a version without a schema',
    said: SAID.plainTrue,
    async run(world) {
      const request = await world.request()
      const conditions = [condition(request, 'dora', { reason: '' })]
      return mergeLax(world.who('dora'), request, { status: { conditions } })
    },
  },
  ...stated('status', 'Unsupported value', 'true'),
  ...[{ observedGeneration: 2 }, { observedGeneration: 1_000_000 }, { observedUID: 'of-another-object' }].map(
    (overrides) => ({
      name: `an entry with ${JSON.stringify(overrides)}`,
      said: SAID.seen,
      async run(world: World) {
        const request = await lookedAt(world)
        return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann', overrides)] })
      },
    }),
  ),
  {
    name: 'an entry without a uid',
    said: 'observedUID: Required value',
    async run(world) {
      const request = await lookedAt(world)
      const { observedUID: _, ...rest } = entry(request, 'ann')
      return mergeStatus(world.who('ann'), request, { approvals: [rest] })
    },
  },
  {
    name: 'an entry with another word',
    said: 'Unsupported value',
    async run(world) {
      const request = await lookedAt(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann', { decision: 'approved' })] })
    },
  },
  {
    name: 'an approval of what was edited meanwhile',
    said: SAID.seen,
    async run(world) {
      const seen = await lookedAt(world)
      await edited(world, seen)
      return applyStatus(world.who('ann'), seen, { approvals: [entry(seen, 'ann')] })
    },
  },
  {
    name: 'an approval of what was deleted and made anew meanwhile',
    said: SAID.seen,
    async run(world) {
      const seen = await world.request()
      await done(world.who('gitops').call('DELETE', pathOf(seen)))
      await world.request({ metadata: { name: seen.metadata.name }, spec: { roles: ['auditor'] } })
      return mergeStatus(world.who('ann'), seen, { conditions: [condition(seen, 'ann')] })
    },
  },
  {
    name: 'an old approval carried over to the present generation by somebody else',
    said: SAID.otherAuthor,
    async run(world) {
      const request = await edited(world, await approvedByAnn(world))
      const replace = { op: 'replace', path: '/status/approvals/0/observedGeneration', value: 2 }
      return jsonStatus(world.who('amy'), request, [replace])
    },
  },
  {
    name: 'Approved and Denied at once',
    said: SAID.oneOf,
    async run(world) {
      const request = await world.request()
      const conditions = [condition(request, 'ann'), condition(request, 'ann', { type: 'Denied' })]
      return mergeStatus(world.who('ann'), request, { conditions })
    },
  },
  {
    name: 'Denied beside the Approved of somebody else',
    said: SAID.oneOf,
    async run(world) {
      const request = await approvedByCondition(world)
      const add = { op: 'add', path: '/status/conditions/-', value: condition(request, 'amy', { type: 'Denied' }) }
      return jsonStatus(world.who('amy'), request, [add])
    },
  },
  {
    name: 'two entries by one approver',
    said: 'Duplicate value',
    async run(world) {
      const request = await lookedAt(world)
      const approvals = [entry(request, 'ann'), entry(request, 'ann', { decision: 'Denied' })]
      return mergeStatus(world.who('ann'), request, { approvals })
    },
  },
  {
    name: 'two entries by one approver, through a version without the list’s key',
    said: SAID.oneEntry,
    async run(world) {
      const request = await lookedAt(world)
      const approvals = [entry(request, 'dora'), entry(request, 'dora', { comment: 'twice' })]
      return mergeLax(world.who('dora'), request, { status: { approvals } })
    },
  },
]

/** A condition Approved with one member wrong, once for each value. */
function stated(member: string, said: string, ...values: unknown[]): Attack[] {
  return values.map((value) => ({
    name: `a condition with ${member}: ${value === undefined ? 'nothing' : JSON.stringify(value)}`,
    said,
    async run(world: World) {
      const request = await world.request()
      const wrong: Stored = condition(request, 'ann', { [member]: value })
      return mergeStatus(world.who('ann'), request, { conditions: [wrong] })
    },
  }))
}
