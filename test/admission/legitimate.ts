import { APPLY_PATCH } from '../support/control_plane/account.ts'
import type { Answer } from '../support/control_plane/account.ts'
import { LEGITIMATE_REALMS } from './legitimate_realms.ts'
import { API, assignment, realm } from './world.ts'
import type { Stored, World } from './world.ts'
import {
  applyStatus,
  condition,
  entry,
  jsonStatus,
  merge,
  mergeLax,
  mergeStatus,
  pathOf,
  putStatus,
  read,
  ready,
} from './writes.ts'
import type { Legitimate } from './writes.ts'

/** Resolves with the object of an answer; rejects for a refusal. */
export async function done(answer: Promise<Answer>): Promise<Stored> {
  const { status, body } = await answer
  if (status >= 300) throw new Error(`${status} ${body.message}`)
  return body
}

/** A new request with the operator's status. */
export async function resolvedRequest(world: World, overrides?: Parameters<World['request']>[0]): Promise<Stored> {
  const request = await world.request(overrides)
  const status = { observedGeneration: 1, conditions: [ready(request)], granted: { generation: 1 } }
  return done(applyStatus(world.who('operator'), request, status))
}

/** A request that Ann has approved by an entry. */
export async function approvedByAnn(world: World): Promise<Stored> {
  const request = await resolvedRequest(world)
  return done(applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann')] }))
}

/** A request that Ann has approved by a condition. */
export async function approvedByCondition(world: World): Promise<Stored> {
  const request = await resolvedRequest(world)
  const add = { op: 'add', path: '/status/conditions/-', value: condition(request, 'ann') }
  return done(jsonStatus(world.who('ann'), request, [add]))
}

/** The request of another generation: GitOps edits on behalf of Carol. */
export async function edited(world: World, request: Stored): Promise<Stored> {
  return done(merge(world.who('gitops'), request, { spec: { reason: `edited after ${request.metadata.generation}` } }))
}

export const LEGITIMATE: Legitimate[] = [
  {
    name: 'an approver approves with the plain patch of the docs',
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann')] })
    },
  },
  {
    name: 'an approver who drops Ready with that patch',
    async run(world) {
      const request = await resolvedRequest(world)
      return mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann')] })
    },
  },
  {
    name: 'the operator puts Ready back',
    async run(world) {
      const request = await resolvedRequest(world)
      await done(mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann')] }))
      return applyStatus(world.who('operator'), request, { conditions: [ready(request)] })
    },
  },
  {
    name: 'an approver adds the condition with a json-patch',
    async run(world) {
      const request = await resolvedRequest(world)
      const add = { op: 'add', path: '/status/conditions/-', value: condition(request, 'ann') }
      return jsonStatus(world.who('ann'), request, [add])
    },
  },
  {
    name: 'an approver replaces the status with their entry in it',
    async run(world) {
      const request = await resolvedRequest(world)
      return putStatus(world.who('ann'), request, { ...request.status, approvals: [entry(request, 'ann')] })
    },
  },
  {
    name: 'an approver applies an entry with a comment',
    async run(world) {
      const request = await resolvedRequest(world)
      const remarks = { comment: 'asked her in person', decidedAt: '2026-01-01T00:00:00Z' }
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann', remarks)] })
    },
  },
  {
    name: 'a second approver applies another entry',
    async run(world) {
      const request = await approvedByAnn(world)
      const answer = await applyStatus(world.who('amy'), request, { approvals: [entry(request, 'amy')] })
      const names = answer.body.status.approvals.map((one: Stored) => one.approver)
      if (names.length !== 2) throw new Error(`entries by ${names}`)
      return answer
    },
  },
  {
    name: 'the same decision again, unchanged',
    async run(world) {
      const request = await approvedByAnn(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann')] })
    },
  },
  {
    name: 'an entry of an approver who has written a condition',
    async run(world) {
      const request = await approvedByCondition(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann')] })
    },
  },
  {
    name: 'an approver approves with a dry run',
    async run(world) {
      const request = await world.request()
      const status = { conditions: [condition(request, 'ann')] }
      const path = `${pathOf(request)}/status?dryRun=All`
      return world.who('ann').call('PATCH', path, { status }, { contentType: 'application/merge-patch+json' })
    },
  },
  {
    name: 'an approver denies by a condition',
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann', { type: 'Denied' })] })
    },
  },
  {
    name: 'an approver denies by an entry',
    async run(world) {
      const request = await resolvedRequest(world)
      const approvals = [entry(request, 'ann', { decision: 'Denied', comment: 'no need' })]
      return applyStatus(world.who('ann'), request, { approvals })
    },
  },
  {
    name: 'an approver turns their own entry to Denied',
    async run(world) {
      const request = await approvedByAnn(world)
      return applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann', { decision: 'Denied' })] })
    },
  },
  {
    name: 'another approver replaces Approved with Denied',
    async run(world) {
      const request = await approvedByCondition(world)
      const denied = condition(request, 'amy', { type: 'Denied' })
      return mergeStatus(world.who('amy'), request, { conditions: [ready(request), denied] })
    },
  },
  {
    name: 'an approver decides on another generation and drops outdated entries with the same write',
    async run(world) {
      const request = await edited(world, await approvedByAnn(world))
      return mergeStatus(world.who('amy'), request, { approvals: [entry(request, 'amy')] })
    },
  },
  {
    name: 'an approver replaces an outdated condition',
    async run(world) {
      const request = await edited(world, await approvedByCondition(world))
      const [ready] = request.status.conditions
      return mergeStatus(world.who('amy'), request, { conditions: [ready, condition(request, 'amy')] })
    },
  },
  {
    name: 'the approver of one realm decides for it',
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('rita'), request, { conditions: [condition(request, 'rita')] })
    },
  },
  {
    name: 'the approver of one realm decides for it in another namespace',
    async run(world) {
      const request = await world.request({ namespace: world.away })
      return mergeStatus(world.who('rita'), request, { conditions: [condition(request, 'rita')] })
    },
  },
  {
    name: 'an approver decides on a request of a user whose name begins with theirs',
    async run(world) {
      const request = await world.request({ spec: { requestedBy: 'ann-marie' } })
      return mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann')] })
    },
  },
  {
    name: 'an author who may approve decides on requests of others',
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('dora'), request, { conditions: [condition(request, 'dora')] })
    },
  },
  {
    name: 'an administrator acts as an approver',
    async run(world) {
      const request = await world.request()
      const status = { conditions: [condition(request, 'ann')] }
      return world
        .who('ida')
        .call(
          'PATCH',
          `${pathOf(request)}/status`,
          { status },
          { contentType: 'application/merge-patch+json', headers: { 'Impersonate-User': 'ann' } },
        )
    },
  },
  {
    name: 'an author requests in their own name',
    run: ({ who, home }) =>
      who('carol').call('POST', `${API}/namespaces/${home}/roleassignments`, assignment('carols-own')),
  },
  {
    name: 'an author edits their own request',
    async run(world) {
      return merge(world.who('carol'), await world.request(), { spec: { roles: ['auditor'] } })
    },
  },
  {
    name: 'an author takes over a request, in their own name',
    async run(world) {
      const spec = { requestedBy: 'mallory', formerRequesters: ['carol'] }
      return merge(world.who('mallory'), await world.request(), { spec })
    },
  },
  {
    name: 'an author proves their own request, and another author takes it over and proves that',
    async run({ who, home }) {
      const body = assignment('proven', { submittedBy: 'carol' })
      const made = await who('carol').do('POST', `${API}/namespaces/${home}/roleassignments`, body)
      const spec = { requestedBy: 'dora', submittedBy: 'dora', formerRequesters: ['carol'] }
      return merge(who('dora'), made, { spec })
    },
  },
  {
    name: 'an approver decides on a request that was taken over',
    async run(world) {
      const request = await world.request({ spec: { formerRequesters: ['dora'] } })
      return mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann')] })
    },
  },
  {
    name: 'an approver in many groups decides on a request with as many former requesters as the schema admits',
    async run(world) {
      const formerRequesters = Array.from({ length: 16 }, (_, n) => `${n}-`.padEnd(512, 'x'))
      const request = await world.request({ spec: { formerRequesters } })
      const groups = Array.from({ length: 300 }, (_, n) => `${n}-`.padEnd(64, 'X'))
      const ann = world.cluster.plane.user('ann', groups)
      return mergeStatus(ann, request, { conditions: [condition(request, 'ann')] })
    },
  },
  {
    name: 'an author takes over a granted request, without its former requesters, and proves that',
    async run(world) {
      const request = await world.request({ spec: { formerRequesters: ['dora'] } })
      await done(applyStatus(world.who('operator'), request, { granted: grantOf(request) }))
      const spec = { requestedBy: 'mallory', submittedBy: 'mallory', formerRequesters: null }
      return merge(world.who('mallory'), request, { spec })
    },
  },
  {
    name: 'an author changes labels, annotations and finalizers of requests of others',
    async run(world) {
      const metadata = { labels: { team: 'a' }, annotations: { note: 'b' }, finalizers: ['example.com/kept'] }
      return merge(world.who('mallory'), await approvedByAnn(world), { metadata })
    },
  },
  {
    name: 'an author deletes an approved request',
    async run(world) {
      return world.who('carol').call('DELETE', pathOf(await approvedByAnn(world)))
    },
  },
  {
    name: 'GitOps submits and edits for others',
    async run(world) {
      const spec = { requestedBy: 'another-user', formerRequesters: ['carol'] }
      return merge(world.who('gitops'), await world.request(), { spec })
    },
  },
  {
    name: 'GitOps applies a manifest again and again, edits it, and names itself as the account that submits',
    async run({ who, home }) {
      const gitops = who('gitops')
      const apply = (spec: object): Promise<Answer> => {
        const path = `${API}/namespaces/${home}/roleassignments/applied?fieldManager=argocd-controller&force=true`
        return gitops.call('PATCH', path, assignment('applied', spec), { contentType: APPLY_PATCH })
      }
      for (const spec of [{}, {}, { roles: ['auditor'] }, { reason: 'new' }, { submittedBy: gitops.name }]) {
        await done(apply(spec))
      }
      return apply({ submittedBy: gitops.name, requestedBy: 'dora', formerRequesters: ['carol'] })
    },
  },
  {
    name: 'GitOps creates a request again whose manifest names former requesters',
    async run(world) {
      const request = await world.request({ spec: { formerRequesters: ['dora'] } })
      await done(world.who('gitops').call('DELETE', pathOf(request)))
      return world.who('gitops').call('POST', `${API}/namespaces/${world.home}/roleassignments`, {
        ...assignment(request.metadata.name, { formerRequesters: ['dora'] }),
      })
    },
  },
  {
    name: 'the owner of a namespace submits there for others',
    run: ({ who, home, away }) =>
      who('olga').call(
        'POST',
        `${API}/namespaces/${away}/roleassignments`,
        assignment('for-others', { realmRef: { name: 'acme', namespace: home } }),
      ),
  },
  {
    name: 'the operator writes status while approvers have entries',
    async run(world) {
      const request = await approvedByAnn(world)
      const conditions = [ready(request, { reason: 'QuorumNotReached' })]
      return applyStatus(world.who('operator'), request, { observedGeneration: 1, conditions })
    },
  },
  {
    name: 'the operator drops entries of earlier generations',
    async run(world) {
      const request = await edited(world, await approvedByAnn(world))
      return jsonStatus(world.who('operator'), request, [{ op: 'remove', path: '/status/approvals/0' }])
    },
  },
  {
    name: 'the operator adds its finalizer to requests',
    async run(world) {
      return merge(world.who('operator'), await world.request(), {
        metadata: { finalizers: ['realmkeeper.io/cleanup'] },
      })
    },
  },
  {
    name: 'the operator releases a deleted object that was approved',
    async run(world) {
      const request = await world.request({ metadata: { finalizers: ['realmkeeper.io/cleanup'] } })
      await done(applyStatus(world.who('ann'), request, { approvals: [entry(request, 'ann')] }))
      await done(world.who('carol').call('DELETE', pathOf(request)))
      return merge(world.who('operator'), request, { metadata: { finalizers: [] } })
    },
  },
  {
    name: 'labels through a version without the status subresource',
    async run(world) {
      return mergeLax(world.who('carol'), await approvedByAnn(world), { metadata: { labels: { team: 'a' } } })
    },
  },
  {
    name: 'the owner of a realm raises requiredApprovals',
    async run({ who, home }) {
      const path = `${API}/namespaces/${home}/realms`
      const made = await who('carol').do('POST', path, realm('stricter', { enabled: false }))
      const identityGovernance = { enabled: true, requiredApprovals: 3 }
      return merge(who('carol'), made, { spec: { identityGovernance } })
    },
  },
  {
    name: 'the owner of a realm asks for an extra approval of claims, and an approver removes that',
    async run({ who, home }) {
      const path = `${API}/namespaces/${home}/realms`
      const made = await who('dora').do('POST', path, realm('trusting', { enabled: true }))
      const asking = (extraApprovalForClaims: boolean) => ({ spec: { identityGovernance: { extraApprovalForClaims } } })
      await done(merge(who('carol'), made, asking(true)))
      return merge(who('dora'), made, asking(false))
    },
  },
  {
    name: 'the owner of a governed realm changes other things',
    async run({ who, home }) {
      const acme = await who('carol').do('GET', `${API}/namespaces/${home}/realms/acme`)
      return merge(who('carol'), acme, { spec: { displayName: 'Acme' } })
    },
  },
  {
    name: 'an approver of a realm lowers requiredApprovals',
    async run({ who, home }) {
      const made = await who('dora').do('POST', `${API}/namespaces/${home}/realms`, realm('laxer'))
      return merge(who('dora'), made, { spec: { identityGovernance: { enabled: true, requiredApprovals: 1 } } })
    },
  },
  {
    name: 'an author creates a user without a subject and edits it',
    async run({ who, home }) {
      const made = await who('carol').do('POST', `${API}/namespaces/${home}/users`, user('plain'))
      return merge(who('carol'), made, { spec: { email: 'plain@example.com' } })
    },
  },
  ...LEGITIMATE_REALMS,
  {
    name: 'an account with set-subject sets a subject, and others edit the user afterwards',
    async run({ who, home }) {
      const body = user('migrated', { subject: 'from-elsewhere' })
      const made = await who('sue').do('POST', `${API}/namespaces/${home}/users`, body)
      return merge(who('carol'), await read(who('carol'), made), { spec: { email: 'migrated@example.com' } })
    },
  },
]

/** `status.granted` of a granted request. */
function grantOf({ metadata: { generation } }: Stored): Stored {
  const times = { grantedAt: '2026-01-01T00:00:00Z', governed: true, approvers: ['ann'] }
  return { generation, serving: { generation, realmUID: 'r', roles: ['manager'], ...times } }
}

export function user(name: string, spec: object = {}): Stored {
  return {
    apiVersion: 'realmkeeper.io/v1alpha1',
    kind: 'User',
    metadata: { name },
    spec: { realmRef: { name: 'acme' }, username: name, ...spec },
  }
}
