import { approvedByAnn, approvedByCondition, done, lookedAt } from '../legitimate.ts'
import type { Stored, World } from '../world.ts'
import { applyStatus, condition, entry, jsonStatus, mergeStatus, ready } from '../writes.ts'
import { SAID } from './attack.ts'
import type { Attack } from './attack.ts'

/** Approvers who take decisions back, or change them, while they cover the present generation. */
export const WITHDRAWN: Attack[] = [
  {
    name: 'an approver drops the entry of another one',
    said: SAID.entryStays,
    async run(world) {
      const request = await approvedByAnn(world)
      return mergeStatus(world.who('amy'), request, { approvals: [entry(request, 'amy')] })
    },
  },
  {
    name: 'an approver empties the entries',
    said: SAID.entryStays,
    async run(world) {
      return mergeStatus(world.who('amy'), await approvedByAnn(world), { approvals: [] })
    },
  },
  {
    name: 'an approver drops their own entry',
    said: SAID.entryStays,
    async run(world) {
      return applyStatus(world.who('ann'), await approvedByAnn(world), { approvals: [] })
    },
  },
  {
    name: 'an approver says the same anew, with other words',
    said: SAID.entryStays,
    async run(world) {
      const request = await approvedByAnn(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann', { comment: 'as I said' })] })
    },
  },
  {
    name: 'an approver changes the words of another one',
    said: SAID.otherAuthor,
    async run(world) {
      const add = { op: 'add', path: '/status/approvals/0/comment', value: 'gladly' }
      return jsonStatus(world.who('amy'), await approvedByAnn(world), [add])
    },
  },
  {
    name: 'an approver turns their entry from Denied to Approved',
    said: SAID.entryStays,
    async run(world) {
      const request = await deniedByAnn(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann')] })
    },
  },
  {
    name: 'an approver drops the denial of another one',
    said: SAID.entryStays,
    async run(world) {
      const request = await deniedByAnn(world)
      return mergeStatus(world.who('amy'), request, { approvals: [entry(request, 'amy')] })
    },
  },
  {
    name: 'an approver puts their denial in the place of the approval of another one',
    said: SAID.entryStays,
    async run(world) {
      const request = await approvedByAnn(world)
      return mergeStatus(world.who('amy'), request, { approvals: [entry(request, 'amy', { decision: 'Denied' })] })
    },
  },
  {
    name: 'an approver denies anew, with other words',
    said: SAID.entryStays,
    async run(world) {
      const request = await deniedByAnn(world)
      const again = entry(request, 'ann', { decision: 'Denied', comment: 'as I said' })
      return applyStatus(world.who('ann'), request, { approvals: [again] })
    },
  },
  {
    name: 'an approver puts their Denied in the place of the Denied of another one',
    said: SAID.conditionStays,
    async run(world) {
      const request = await world.request()
      const denied = (name: string) => ({ conditions: [condition(request, name, { type: 'Denied' })] })
      await done(mergeStatus(world.who('ann'), request, denied('ann')))
      return mergeStatus(world.who('amy'), request, denied('amy'))
    },
  },
  {
    name: 'an approver removes the condition of another one',
    said: SAID.conditionStays,
    async run(world) {
      const request = await approvedByCondition(world)
      return mergeStatus(world.who('amy'), request, { conditions: [ready(request)] })
    },
  },
  {
    name: 'an approver removes their own condition',
    said: SAID.conditionStays,
    async run(world) {
      const request = await approvedByCondition(world)
      return mergeStatus(world.who('ann'), request, { conditions: [ready(request)] })
    },
  },
  {
    name: 'an approver puts their name on the condition of another one',
    said: SAID.conditionStays,
    async run(world) {
      const request = await approvedByCondition(world)
      return mergeStatus(world.who('amy'), request, { conditions: [ready(request), condition(request, 'amy')] })
    },
  },
  {
    name: 'an approver puts Approved in the place of their Denied',
    said: SAID.conditionStays,
    async run(world) {
      const request = await world.request()
      const denied = condition(request, 'ann', { type: 'Denied' })
      await done(mergeStatus(world.who('ann'), request, { conditions: [denied] }))
      return mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann')] })
    },
  },
  {
    name: 'an approver puts Approved in the place of the Denied of another one',
    said: SAID.conditionStays,
    async run(world) {
      const request = await world.request()
      const denied = condition(request, 'ann', { type: 'Denied' })
      await done(mergeStatus(world.who('ann'), request, { conditions: [denied] }))
      return mergeStatus(world.who('amy'), request, { conditions: [condition(request, 'amy')] })
    },
  },
  {
    name: 'an approver makes the condition of another one say False',
    said: SAID.decidedBy,
    async run(world) {
      const request = await approvedByCondition(world)
      const replace = { op: 'replace', path: '/status/conditions/1/status', value: 'False' }
      return jsonStatus(world.who('amy'), request, [replace])
    },
  },
  {
    name: 'an approver removes the whole status',
    said: SAID.entryStays,
    async run(world) {
      return jsonStatus(world.who('amy'), await approvedByAnn(world), [{ op: 'remove', path: '/status' }])
    },
  },
]

async function deniedByAnn(world: World): Promise<Stored> {
  const request = await lookedAt(world)
  const approvals = [entry(request, 'ann', { decision: 'Denied' })]
  return done(applyStatus(world.who('ann'), request, { approvals }))
}
