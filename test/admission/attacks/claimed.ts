import { done } from '../legitimate.ts'
import { API, assignment } from '../world.ts'
import type { Stored, World } from '../world.ts'
import { condition, merge, mergeStatus } from '../writes.ts'
import { REFUSALS } from './attack.ts'
import type { Attack } from './attack.ts'
import { byDora } from './rewritten.ts'

/** A request for another user that looks as if that user wrote it, so that it needs no extra approval. */
export const CLAIMED: Attack[] = [
  {
    name: 'GitOps claims that the requester submitted the request',
    refusal: REFUSALS.submittedBy,
    run: (world) => submit(world, 'gitops', { requestedBy: 'carol', submittedBy: 'carol' }),
  },
  {
    name: 'an author names another account as the one that submitted',
    refusal: REFUSALS.submittedBy,
    run: (world) => submit(world, 'carol', { submittedBy: 'dora' }),
  },
  {
    name: 'GitOps edits a request of its requester and keeps the proof',
    refusal: REFUSALS.submittedBy,
    async run(world) {
      return merge(world.who('gitops'), await byDora(world), { spec: { roles: ['auditor'] } })
    },
  },
  {
    name: 'GitOps requests in its own name as if it had no user behind it',
    refusal: REFUSALS.firstHand,
    run: (world) => submit(world, 'gitops', { requestedBy: GITOPS, submittedBy: GITOPS }),
  },
  {
    name: 'an account with all rights proves its own request',
    refusal: REFUSALS.firstHand,
    run: (world) => submit(world, 'star', { requestedBy: 'star', submittedBy: 'star' }),
  },
  {
    name: 'the owner of a namespace proves their own request there',
    refusal: REFUSALS.firstHand,
    run: ({ who, home, away }) =>
      who('olga').call(
        'POST',
        `${API}/namespaces/${away}/roleassignments`,
        assignment(`of-olga-${++submitted}`, {
          realmRef: { name: 'acme', namespace: home },
          requestedBy: 'olga',
          submittedBy: 'olga',
        }),
      ),
  },
  {
    name: 'the claimed requester edits the reason and makes the claim of GitOps a proof',
    refusal: REFUSALS.firstHand,
    async run(world) {
      const claimed = await world.request()
      return merge(world.who('carol'), claimed, { spec: { reason: 'clearer', submittedBy: 'carol' } })
    },
  },
  {
    name: 'another author takes over the claim of GitOps and makes it a proof',
    refusal: REFUSALS.firstHand,
    async run(world) {
      const claimed = await world.request({ spec: { submittedBy: GITOPS } })
      const spec = { requestedBy: 'dora', submittedBy: 'dora', formerRequesters: ['carol', GITOPS] }
      return merge(world.who('dora'), claimed, { spec })
    },
  },
  {
    name: 'GitOps forgets the account that submitted before',
    refusal: `${REFUSALS.dropsWriters}["AMY"]`,
    async run(world) {
      const claimed = await done(submit(world, 'AMY', { submittedBy: 'AMY' }))
      return merge(world.who('gitops'), claimed, { spec: { submittedBy: null, reason: 'clearer' } })
    },
  },
  {
    name: 'the account that submitted a claim approves under a name in another letter case',
    refusal: REFUSALS.writer,
    async run(world) {
      const claimed = await done(submit(world, 'AMY', { submittedBy: 'AMY' }))
      return mergeStatus(world.who('amy'), claimed, { conditions: [condition(claimed, 'amy')] })
    },
  },
]

export const GITOPS = 'system:serviceaccount:default:gitops'

let submitted = 0

function submit({ who, home }: World, name: string, spec: Stored) {
  const body = assignment(`submitted-${++submitted}`, spec)
  return who(name).call('POST', `${API}/namespaces/${home}/roleassignments`, body)
}
