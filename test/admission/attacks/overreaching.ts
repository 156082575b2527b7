import { approvedByAnn, done, lookedAt } from '../legitimate.ts'
import type { World } from '../world.ts'
import { applyStatus, condition, entry, jsonStatus, mergeStatus, pathOf, ready } from '../writes.ts'
import { SAID } from './attack.ts'
import type { Attack } from './attack.ts'

/** Approvers who decide where they must not, or write more than decisions. */
export const OVERREACHING: Attack[] = [
  ...['star', 'eager-gitops', 'eager-operator'].map((name) => ({
    name: `${name}, who may do more than approve, approves`,
    said: SAID.mayDoMore,
    async run(world: World) {
      const request = await world.request()
      return mergeStatus(world.who(name), request, { conditions: [condition(request, name)] })
    },
  })),
  {
    name: 'an account with every right approves by an entry',
    said: SAID.mayDoMore,
    async run(world) {
      const request = await lookedAt(world)
      return applyStatus(world.who('star'), request, { approvals: [entry(request, 'star')] })
    },
  },
  {
    name: 'an account with every right drops an entry',
    said: SAID.mayDoMore,
    async run(world) {
      return mergeStatus(world.who('star'), await approvedByAnn(world), { approvals: [] })
    },
  },
  {
    name: 'an approver decides on what is being deleted',
    said: SAID.deleted,
    async run(world) {
      const request = await world.request({ metadata: { finalizers: ['example.com/kept'] } })
      const deleted = await done(world.who('carol').call('DELETE', pathOf(request)))
      return mergeStatus(world.who('ann'), deleted, { conditions: [condition(deleted, 'ann')] })
    },
  },
  {
    name: 'the requester approves by a condition',
    said: SAID.requester,
    async run(world) {
      const request = await world.request({ spec: { requestedBy: 'dora' } })
      return mergeStatus(world.who('dora'), request, { conditions: [condition(request, 'dora')] })
    },
  },
  {
    name: 'the requester approves by an entry',
    said: SAID.requester,
    async run(world) {
      const request = await lookedAt(world, { spec: { requestedBy: 'dora' } })
      return applyStatus(world.who('dora'), request, { approvals: [entry(request, 'dora')] })
    },
  },
  {
    name: 'the requester approves under a name that differs in case',
    said: SAID.requester,
    async run(world) {
      const request = await world.request({ spec: { requestedBy: 'ann' } })
      return mergeStatus(world.who('ANN'), request, { conditions: [condition(request, 'ANN')] })
    },
  },
  {
    name: 'somebody of the group that asks approves',
    said: SAID.requester,
    async run(world) {
      const request = await world.request({ spec: { requestedBy: 'platform' } })
      return mergeStatus(world.who('greg'), request, { conditions: [condition(request, 'greg')] })
    },
  },
  {
    name: 'somebody of the group that asks approves, the group in other case',
    said: SAID.requester,
    async run(world) {
      const request = await world.request({ spec: { requestedBy: 'Platform' } })
      return mergeStatus(world.who('greg'), request, { conditions: [condition(request, 'greg')] })
    },
  },
  {
    name: 'an approver says that it is granted, beside their decision',
    said: SAID.results,
    async run(world) {
      const request = await lookedAt(world)
      const granted = ready(request, { status: 'True', reason: 'Granted' })
      return mergeStatus(world.who('ann'), request, { conditions: [granted, condition(request, 'ann')] })
    },
  },
  {
    name: 'an approver changes a word of Ready',
    said: SAID.results,
    async run(world) {
      const replace = { op: 'replace', path: '/status/conditions/0/message', value: 'all is well' }
      return jsonStatus(world.who('ann'), await lookedAt(world), [replace])
    },
  },
  {
    name: 'an approver drops Ready without a decision',
    said: SAID.results,
    async run(world) {
      return mergeStatus(world.who('ann'), await lookedAt(world), { conditions: [] })
    },
  },
  {
    name: 'an approver adds a condition of their own',
    said: SAID.results,
    async run(world) {
      const request = await world.request()
      const conditions = [ready(request, { type: 'Blessed' }), condition(request, 'ann')]
      return mergeStatus(world.who('ann'), request, { conditions })
    },
  },
  {
    name: 'an approver says what is granted, beside their decision',
    said: SAID.status,
    async run(world) {
      const request = await world.request()
      const status = { conditions: [condition(request, 'ann')], granted: { generation: 1 } }
      return mergeStatus(world.who('ann'), request, status)
    },
  },
  {
    name: 'an approver changes the generation that was looked at',
    said: SAID.status,
    async run(world) {
      return mergeStatus(world.who('ann'), await lookedAt(world), { observedGeneration: 7 })
    },
  },
  {
    name: 'an approver removes what was granted, beside their decision',
    said: SAID.status,
    async run(world) {
      const request = await lookedAt(world)
      return mergeStatus(world.who('ann'), request, { granted: null, conditions: [condition(request, 'ann')] })
    },
  },
]
