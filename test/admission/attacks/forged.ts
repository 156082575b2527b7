import { MERGE_PATCH } from '../../support/control_plane/account.ts'
import { untilRightsAct } from '../../support/control_plane/rights.ts'
import { approvedByAnn, approvedByCondition, done, edited, resolvedRequest } from '../legitimate.ts'
import { API } from '../world.ts'
import type { World } from '../world.ts'
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
} from '../writes.ts'
import { REFUSALS } from './attack.ts'
import type { Attack } from './attack.ts'

/** Decisions by accounts that may not decide. Mallory has all rights on RoleAssignments and their status except `approve`. */
export const FORGED: Attack[] = [
  {
    name: 'an author approves with a merge patch',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('mallory'), request, { conditions: [condition(request, 'mallory')] })
    },
  },
  {
    name: 'an author approves with a json-patch',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await resolvedRequest(world)
      const add = { op: 'add', path: '/status/conditions/-', value: condition(request, 'mallory') }
      return jsonStatus(world.who('mallory'), request, [add])
    },
  },
  {
    name: 'an author applies an entry',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await resolvedRequest(world)
      return applyStatus(world.who('mallory'), request, { approvals: [entry(request, 'mallory')] })
    },
  },
  {
    name: 'an author applies an entry under an approver’s name and field manager',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await approvedByAnn(world)
      const answer = await applyStatus(world.who('mallory'), request, { approvals: [entry(request, 'amy')] }, 'of-ann')
      return answer
    },
  },
  {
    name: 'an author drops an entry by an empty apply under the approver’s field manager',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      return applyStatus(world.who('mallory'), await approvedByAnn(world), { approvals: [] }, 'of-ann')
    },
  },
  {
    name: 'an author writes Ready True, by force under the operator’s field manager',
    refusal: REFUSALS.results,
    async run(world) {
      const request = await resolvedRequest(world)
      const conditions = [ready(request, { status: 'True', reason: 'Granted' })]
      return applyStatus(world.who('mallory'), request, { conditions }, `of-${world.who('operator').name}`, true)
    },
  },
  {
    name: 'an author approves in the name of an approver',
    refusal: '"mallory" cannot impersonate',
    async run(world) {
      const request = await world.request()
      const status = { conditions: [condition(request, 'ann')] }
      const options = { contentType: MERGE_PATCH, headers: { 'Impersonate-User': 'ann' } }
      return world.who('mallory').call('PATCH', `${pathOf(request)}/status`, { status }, options)
    },
  },
  {
    name: 'an author approves with a dry run',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request()
      const status = { conditions: [condition(request, 'ann')] }
      const path = `${pathOf(request)}/status?dryRun=All`
      return world.who('mallory').call('PATCH', path, { status }, { contentType: MERGE_PATCH })
    },
  },
  {
    name: 'an author replaces status',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await resolvedRequest(world)
      return putStatus(world.who('mallory'), request, { ...request.status, approvals: [entry(request, 'mallory')] })
    },
  },
  {
    name: 'an author approves under an approver’s name',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('mallory'), request, { conditions: [condition(request, 'ann')] })
    },
  },
  {
    name: 'an author changes spec and approves in one replacement of status',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await resolvedRequest(world)
      const changed = { ...request, spec: { ...request.spec, roles: ['auditor'] } }
      return putStatus(world.who('mallory'), changed, { approvals: [entry(request, 'mallory')] })
    },
  },
  {
    name: 'an author denies',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('mallory'), request, {
        conditions: [condition(request, 'mallory', { type: 'Denied' })],
      })
    },
  },
  {
    name: 'an author carries an old approval over to the present generation',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await edited(world, await approvedByAnn(world))
      const replace = { op: 'replace', path: '/status/approvals/0/observedGeneration', value: 2 }
      return jsonStatus(world.who('mallory'), request, [replace])
    },
  },
  {
    name: 'an author drops an approval',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      return mergeStatus(world.who('mallory'), await approvedByAnn(world), { approvals: null })
    },
  },
  {
    name: 'an author drops an outdated approval',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await edited(world, await approvedByAnn(world))
      return mergeStatus(world.who('mallory'), request, { approvals: [] })
    },
  },
  {
    name: 'an author removes the whole status',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await approvedByCondition(world)
      return jsonStatus(world.who('mallory'), request, [{ op: 'remove', path: '/status' }])
    },
  },
  {
    name: 'an author approves through a version without the status subresource',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await resolvedRequest(world)
      return mergeLax(world.who('mallory'), request, { status: { approvals: [entry(request, 'mallory')] } })
    },
  },
  {
    name: 'an author approves through another served version',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await resolvedRequest(world)
      const path = `${pathOf(request, '/apis/realmkeeper.io/v1beta1')}/status`
      const status = { approvals: [entry(request, 'mallory')] }
      return world.who('mallory').call('PATCH', path, { status }, { contentType: MERGE_PATCH })
    },
  },
  {
    name: 'an author creates an approved request through that version',
    refusal: REFUSALS.needsApprove,
    run: ({ who, home }: World) =>
      who('mallory').call('POST', `/apis/realmkeeper.io/v1lax/namespaces/${home}/roleassignments`, {
        apiVersion: 'realmkeeper.io/v1lax',
        kind: 'RoleAssignment',
        metadata: { name: 'created-approved' },
        spec: {
          realmRef: { name: 'acme' },
          subject: { kind: 'User', name: 'alice' },
          roles: ['manager'],
          requestedBy: 'mallory',
        },
        status: {
          approvals: [{ approver: 'ann', decision: 'Approved', observedGeneration: 1, observedUID: 'unknown-yet' }],
        },
      }),
  },
  {
    name: 'a viewer approves',
    refusal: 'cannot patch resource "roleassignments/status"',
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('vic'), request, { conditions: [condition(request, 'vic')] })
    },
  },
  {
    name: 'GitOps sends an approved status',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request()
      return applyStatus(world.who('gitops'), request, {
        approvals: [entry(request, 'system:serviceaccount:default:gitops')],
      })
    },
  },
  {
    name: 'the operator adds an approval',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await resolvedRequest(world)
      return applyStatus(world.who('operator'), request, {
        approvals: [entry(request, 'system:serviceaccount:default:operator')],
      })
    },
  },
  {
    name: 'the operator drops an approval',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await approvedByAnn(world)
      return jsonStatus(world.who('operator'), request, [{ op: 'remove', path: '/status/approvals/0' }])
    },
  },
  {
    name: 'the operator removes a condition of an approver',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      return mergeStatus(world.who('operator'), await approvedByCondition(world), { conditions: [] })
    },
  },
  {
    name: 'the approver of one realm decides for another realm',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request({ realm: 'globex' })
      return mergeStatus(world.who('rita'), request, { conditions: [condition(request, 'rita')] })
    },
  },
  {
    name: 'the approver of one realm decides for another realm from another namespace',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request({ realm: 'globex', namespace: world.away })
      return mergeStatus(world.who('rita'), request, { conditions: [condition(request, 'rita')] })
    },
  },
  {
    name: 'the owner of a namespace decides for a Realm in another namespace',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request({ namespace: world.away })
      return mergeStatus(world.who('olga'), request, { conditions: [condition(request, 'olga')] })
    },
  },
  {
    name: 'the owner of a namespace creates a Realm of that name there and decides',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const { who, home, away } = world
      const realm = await who('olga').do('GET', `${API}/namespaces/${away}/realms`)
      if (realm.items.length === 0) {
        await who('olga').do('POST', `${API}/namespaces/${away}/realms`, {
          apiVersion: 'realmkeeper.io/v1alpha1',
          kind: 'Realm',
          metadata: { name: 'acme' },
          spec: { realm: `${home}-copy` },
        })
      }
      const request = await world.request({ namespace: away })
      return mergeStatus(who('olga'), request, { conditions: [condition(request, 'olga')] })
    },
  },
  {
    name: 'the owner of a namespace submits and decides by their own service account',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request({ namespace: world.away })
      const robot = await world.cluster.plane.serviceAccount(world.away, 'robot')
      await bindRobot(world, 'Role', 'approver-here')
      return mergeStatus(robot, request, { conditions: [condition(request, robot.name)] })
    },
  },
  {
    name: 'an approver for the Realm, but not for this namespace, approves',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request()
      return mergeStatus(world.who('regent'), request, { conditions: [condition(request, 'regent')] })
    },
  },
  {
    name: 'an approver for Realms of this namespace approves for a Realm in another namespace',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await world.request({ namespace: world.away })
      return mergeStatus(world.who('nora'), request, { conditions: [condition(request, 'nora')] })
    },
  },
  {
    name: 'an author removes an outdated condition of an approver',
    refusal: REFUSALS.needsApprove,
    async run(world) {
      const request = await edited(world, await approvedByCondition(world))
      return jsonStatus(world.who('mallory'), request, [{ op: 'remove', path: '/status/conditions/1' }])
    },
  },
  {
    name: 'an author approves next to a condition that is null, through a version without a schema',
    refusal: 'no such key: type',
    async run(world) {
      const request = await world.request()
      const conditions = [condition(request, 'ann'), 'none']
      return mergeLax(world.who('mallory'), request, { status: { conditions } })
    },
  },
  {
    name: 'the owner of a namespace writes Ready True there',
    refusal: REFUSALS.results,
    async run(world) {
      const request = await world.request({ namespace: world.away })
      const conditions = [ready(request, { status: 'True', reason: 'Granted' })]
      return mergeStatus(world.who('olga'), request, { conditions })
    },
  },
  {
    name: 'the owner of a namespace writes status.granted there',
    refusal: REFUSALS.status,
    async run(world) {
      const request = await world.request({ namespace: world.away })
      return mergeStatus(world.who('olga'), request, { granted: { generation: 1 } })
    },
  },
  {
    name: 'an author requests under the name of another user',
    refusal: REFUSALS.requestedBy,
    run: ({ who, home }: World) =>
      who('mallory').call('POST', `${API}/namespaces/${home}/roleassignments`, {
        apiVersion: 'realmkeeper.io/v1alpha1',
        kind: 'RoleAssignment',
        metadata: { generateName: 'under-another-name-' },
        spec: {
          realmRef: { name: 'acme' },
          subject: { kind: 'User', name: 'alice' },
          roles: ['manager'],
          requestedBy: 'carol',
        },
      }),
  },
  {
    name: 'an author edits the request of another author',
    refusal: REFUSALS.requestedBy,
    async run(world) {
      return merge(world.who('mallory'), await approvedByAnn(world), { spec: { roles: ['manager', 'auditor'] } })
    },
  },
  {
    name: 'an author changes requestedBy of their own request to another user',
    refusal: REFUSALS.requestedBy,
    async run(world) {
      const request = await world.request({ spec: { requestedBy: 'mallory' } })
      return merge(world.who('mallory'), request, { spec: { requestedBy: 'MALLORY' } })
    },
  },
  {
    name: 'an author edits the request of another author through a version without the status subresource',
    refusal: REFUSALS.requestedBy,
    async run(world) {
      return mergeLax(world.who('mallory'), await world.request(), { spec: { roles: ['auditor'] } })
    },
  },
  {
    name: 'the operator edits a request',
    refusal: REFUSALS.requestedBy,
    async run(world) {
      return merge(world.who('operator'), await world.request(), { spec: { roles: ['auditor'] } })
    },
  },
  {
    name: 'an author writes Ready True',
    refusal: REFUSALS.results,
    async run(world) {
      const request = await world.request()
      const conditions = [ready(request, { status: 'True', reason: 'Granted' })]
      return mergeStatus(world.who('mallory'), request, { conditions })
    },
  },
  {
    name: 'an author removes the operator’s conditions',
    refusal: REFUSALS.results,
    async run(world) {
      return mergeStatus(world.who('mallory'), await resolvedRequest(world), { conditions: [] })
    },
  },
  {
    name: 'an author writes status.granted',
    refusal: REFUSALS.status,
    async run(world) {
      const granted = { generation: 1 }
      return mergeStatus(world.who('mallory'), await world.request(), { granted })
    },
  },
  {
    name: 'an author changes status.granted, through a version without the status subresource',
    refusal: REFUSALS.status,
    async run(world) {
      const request = await resolvedRequest(world)
      return mergeLax(world.who('mallory'), request, { status: { granted: { roles: ['manager'] } } })
    },
  },
  {
    name: 'an author removes status.granted',
    refusal: REFUSALS.status,
    async run(world) {
      const request = await resolvedRequest(world)
      return jsonStatus(world.who('mallory'), request, [{ op: 'remove', path: '/status/granted' }])
    },
  },
  {
    name: 'an author removes a status without decisions',
    refusal: REFUSALS.results,
    async run(world) {
      const request = await read(world.who('mallory'), await resolvedRequest(world))
      return jsonStatus(world.who('mallory'), request, [{ op: 'remove', path: '/status' }])
    },
  },
]

async function bindRobot({ cluster, who, away }: World, kind: string, name: string): Promise<void> {
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${away}/rolebindings`
  await done(
    who('olga').call('POST', path, {
      metadata: { generateName: 'robot-' },
      subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: away }],
      roleRef: { kind, name, apiGroup: 'rbac.authorization.k8s.io' },
    }),
  )
  await untilRightsAct(cluster.admin, away)
}
