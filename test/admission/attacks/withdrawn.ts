import { approvedByAnn, approvedByCondition, done, resolvedRequest } from '../legitimate.ts'
import type { Stored, World } from '../world.ts'
import { applyStatus, condition, entry, jsonStatus, mergeStatus, ready } from '../writes.ts'
import { REFUSALS } from './attack.ts'
import type { Attack } from './attack.ts'

/** Approvers who withdraw or change decisions that cover the present generation. */
export const WITHDRAWN: Attack[] = [
  {
    name: 'an approver drops the entry of another approver',
    refusal: REFUSALS.entryStays,
    async run(world) {
      const request = await approvedByAnn(world)
      return mergeStatus(world.who('amy'), request, { approvals: [entry(request, 'amy')] })
    },
  },
  {
    name: 'an approver empties the entries',
    refusal: REFUSALS.entryStays,
    async run(world) {
      return mergeStatus(world.who('amy'), await approvedByAnn(world), { approvals: [] })
    },
  },
  {
    name: 'an approver drops their own entry',
    refusal: REFUSALS.entryStays,
    async run(world) {
      return applyStatus(world.who('ann'), await approvedByAnn(world), { approvals: [] })
    },
  },
  {
    name: 'an approver repeats their approval with another comment',
    refusal: REFUSALS.entryStays,
    async run(world) {
      const request = await approvedByAnn(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann', { comment: 'as I said' })] })
    },
  },
  {
    name: 'an approver changes the comment of another approver',
    refusal: REFUSALS.otherAuthor,
    async run(world) {
      const add = { op: 'add', path: '/status/approvals/0/comment', value: 'gladly' }
      return jsonStatus(world.who('amy'), await approvedByAnn(world), [add])
    },
  },
  {
    name: 'an approver turns their entry from Denied to Approved',
    refusal: REFUSALS.entryStays,
    async run(world) {
      const request = await deniedByAnn(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann')] })
    },
  },
  {
    name: 'an approver drops the denial of another approver',
    refusal: REFUSALS.entryStays,
    async run(world) {
      const request = await deniedByAnn(world)
      return mergeStatus(world.who('amy'), request, { approvals: [entry(request, 'amy')] })
    },
  },
  {
    name: 'an approver replaces the approval of another approver with their own denial',
    refusal: REFUSALS.entryStays,
    async run(world) {
      const request = await approvedByAnn(world)
      return mergeStatus(world.who('amy'), request, { approvals: [entry(request, 'amy', { decision: 'Denied' })] })
    },
  },
  {
    name: 'an approver repeats their denial with another comment',
    refusal: REFUSALS.entryStays,
    async run(world) {
      const request = await deniedByAnn(world)
      const again = entry(request, 'ann', { decision: 'Denied', comment: 'as I said' })
      return applyStatus(world.who('ann'), request, { approvals: [again] })
    },
  },
  {
    name: 'an approver replaces the Denied of another approver with their own Denied',
    refusal: REFUSALS.conditionStays,
    async run(world) {
      const request = await world.request()
      const denied = (name: string) => ({ conditions: [condition(request, name, { type: 'Denied' })] })
      await done(mergeStatus(world.who('ann'), request, denied('ann')))
      return mergeStatus(world.who('amy'), request, denied('amy'))
    },
  },
  {
    name: 'an approver removes the condition of another approver',
    refusal: REFUSALS.conditionStays,
    async run(world) {
      const request = await approvedByCondition(world)
      return mergeStatus(world.who('amy'), request, { conditions: [ready(request)] })
    },
  },
  {
    name: 'an approver removes their own condition',
    refusal: REFUSALS.conditionStays,
    async run(world) {
      const request = await approvedByCondition(world)
      return mergeStatus(world.who('ann'), request, { conditions: [ready(request)] })
    },
  },
  {
    name: 'an approver writes their name into the condition of another approver',
    refusal: REFUSALS.conditionStays,
    async run(world) {
      const request = await approvedByCondition(world)
      return mergeStatus(world.who('amy'), request, { conditions: [ready(request), condition(request, 'amy')] })
    },
  },
  {
    name: 'an approver replaces their Denied with Approved',
    refusal: REFUSALS.conditionStays,
    async run(world) {
      const request = await world.request()
      const denied = condition(request, 'ann', { type: 'Denied' })
      await done(mergeStatus(world.who('ann'), request, { conditions: [denied] }))
      return mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann')] })
    },
  },
  {
    name: 'an approver replaces the Denied of another approver with Approved',
    refusal: REFUSALS.conditionStays,
    async run(world) {
      const request = await world.request()
      const denied = condition(request, 'ann', { type: 'Denied' })
      await done(mergeStatus(world.who('ann'), request, { conditions: [denied] }))
      return mergeStatus(world.who('amy'), request, { conditions: [condition(request, 'amy')] })
    },
  },
  {
    name: 'an approver sets the condition of another approver to False',
    refusal: REFUSALS.decidedBy,
    async run(world) {
      const request = await approvedByCondition(world)
      const replace = { op: 'replace', path: '/status/conditions/1/status', value: 'False' }
      return jsonStatus(world.who('amy'), request, [replace])
    },
  },
  {
    name: 'an approver removes the whole status',
    refusal: REFUSALS.entryStays,
    async run(world) {
      return jsonStatus(world.who('amy'), await approvedByAnn(world), [{ op: 'remove', path: '/status' }])
    },
  },
]

async function deniedByAnn(world: World): Promise<Stored> {
  const request = await resolvedRequest(world)
  const approvals = [entry(request, 'ann', { decision: 'Denied' })]
  return done(applyStatus(world.who('ann'), request, { approvals }))
}
