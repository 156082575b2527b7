import { approvedByAnn, done, resolvedRequest } from '../legitimate.ts'
import type { World } from '../world.ts'
import { applyStatus, condition, entry, jsonStatus, mergeStatus, pathOf, ready } from '../writes.ts'
import { REFUSALS } from './attack.ts'
import type { Attack } from './attack.ts'

/** Approvers who decide without the right to, or write more than decisions. */
export const OVERREACHING: Attack[] = [
  ...['star', 'eager-gitops', 'eager-operator'].map((name) => ({
    name: `${name}, who has more rights than approve, approves`,
    refusal: REFUSALS.mayDoMore,
    async run(world: World) {
      const request = await world.request()
      return mergeStatus(world.who(name), request, { conditions: [condition(request, name)] })
    },
  })),
  {
    name: 'an account with all rights approves by an entry',
    refusal: REFUSALS.mayDoMore,
    async run(world) {
      const request = await resolvedRequest(world)
      return applyStatus(world.who('star'), request, { approvals: [entry(request, 'star')] })
    },
  },
  {
    name: 'an account with all rights drops an entry',
    refusal: REFUSALS.mayDoMore,
    async run(world) {
      return mergeStatus(world.who('star'), await approvedByAnn(world), { approvals: [] })
    },
  },
  {
    name: 'an approver decides on an object that is being deleted',
    refusal: REFUSALS.deleted,
    async run(world) {
      const request = await world.request({ metadata: { finalizers: ['example.com/kept'] } })
      const deleted = await done(world.who('carol').call('DELETE', pathOf(request)))
      return mergeStatus(world.who('ann'), deleted, { conditions: [condition(deleted, 'ann')] })
    },
  },
  {
    name: 'the requester approves by a condition',
    refusal: REFUSALS.requester,
    async run(world) {
      const request = await world.request({ spec: { requestedBy: 'dora' } })
      return mergeStatus(world.who('dora'), request, { conditions: [condition(request, 'dora')] })
    },
  },
  {
    name: 'the requester approves by an entry',
    refusal: REFUSALS.requester,
    async run(world) {
      const request = await resolvedRequest(world, { spec: { requestedBy: 'dora' } })
      return applyStatus(world.who('dora'), request, { approvals: [entry(request, 'dora')] })
    },
  },
  {
    name: 'the requester approves under a name in another letter case',
    refusal: REFUSALS.requester,
    async run(world) {
      const request = await world.request({ spec: { requestedBy: 'ann' } })
      return mergeStatus(world.who('ANN'), request, { conditions: [condition(request, 'ANN')] })
    },
  },
  {
    name: 'a member of the requesting group approves',
    refusal: REFUSALS.requester,
    async run(world) {
      const request = await world.request({ spec: { requestedBy: 'platform' } })
      return mergeStatus(world.who('greg'), request, { conditions: [condition(request, 'greg')] })
    },
  },
  {
    name: 'a member of the requesting group approves, with the group in another letter case',
    refusal: REFUSALS.requester,
    async run(world) {
      const request = await world.request({ spec: { requestedBy: 'Platform' } })
      return mergeStatus(world.who('greg'), request, { conditions: [condition(request, 'greg')] })
    },
  },
  {
    name: 'an approver writes Ready True with their decision',
    refusal: REFUSALS.results,
    async run(world) {
      const request = await resolvedRequest(world)
      const granted = ready(request, { status: 'True', reason: 'Granted' })
      return mergeStatus(world.who('ann'), request, { conditions: [granted, condition(request, 'ann')] })
    },
  },
  {
    name: 'an approver changes the text of Ready',
    refusal: REFUSALS.results,
    async run(world) {
      const replace = { op: 'replace', path: '/status/conditions/0/message', value: 'all is well' }
      return jsonStatus(world.who('ann'), await resolvedRequest(world), [replace])
    },
  },
  {
    name: 'an approver drops Ready without a decision',
    refusal: REFUSALS.results,
    async run(world) {
      return mergeStatus(world.who('ann'), await resolvedRequest(world), { conditions: [] })
    },
  },
  {
    name: 'an approver adds a condition of another type',
    refusal: REFUSALS.results,
    async run(world) {
      const request = await world.request()
      const conditions = [ready(request, { type: 'Blessed' }), condition(request, 'ann')]
      return mergeStatus(world.who('ann'), request, { conditions })
    },
  },
  {
    name: 'an approver writes status.granted with their decision',
    refusal: REFUSALS.status,
    async run(world) {
      const request = await world.request()
      const status = { conditions: [condition(request, 'ann')], granted: { generation: 1 } }
      return mergeStatus(world.who('ann'), request, status)
    },
  },
  {
    name: 'an approver changes status.observedGeneration',
    refusal: REFUSALS.status,
    async run(world) {
      return mergeStatus(world.who('ann'), await resolvedRequest(world), { observedGeneration: 7 })
    },
  },
  {
    name: 'an approver removes status.granted with their decision',
    refusal: REFUSALS.status,
    async run(world) {
      const request = await resolvedRequest(world)
      return mergeStatus(world.who('ann'), request, { granted: null, conditions: [condition(request, 'ann')] })
    },
  },
]
