import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decidedOn, summaryOf, surroundings } from './decided.ts'
import { done, edited, resolvedRequest } from './legitimate.ts'
import { installPolicies, removePolicies } from '../support/policies.ts'
import { untilActing } from './probe.ts'
import { API, assignment, makeWorld, startCluster, verdict } from './world.ts'
import type { Cluster, Stored, World } from './world.ts'
import { applyStatus, condition, entry, merge, mergeStatus, pathOf, read, ready } from './writes.ts'

/** Sequences of writes, followed by the operator's decision on the resulting object. */
describe('decisions on a real API server', () => {
  let cluster: Cluster
  let world: World
  beforeAll(async () => {
    cluster = await startCluster()
    await installPolicies(cluster.admin)
    world = await makeWorld(cluster, 'rows')
    await untilActing(world)
  })
  afterAll(() => cluster?.stop())

  function approve(request: Stored, name = 'ann'): Promise<Stored> {
    return done(applyStatus(world.who(name), request, { approvals: [entry(request, name)] }))
  }

  test.for([
    ['more roles than the author has', { requestedBy: 'carol', roles: ['svc-realm-admin'] }],
    ['roles of the author', { requestedBy: 'carol', subject: { kind: 'User', name: 'carol' } }],
    ['roles of a group that contains the author', { subject: { kind: 'Group', name: 'default-roles-acme' } }],
  ] as const)('row 98: a request for %s waits', async ([, spec]) => {
    const path = `${API}/namespaces/${world.home}/roleassignments`
    const body = assignment('', spec)
    const metadata = { generateName: 'waits-' }
    const request = await world.who('carol').do('POST', path, { ...body, metadata })
    const around = surroundings(1)
    around.realm = { ...around.realm, namespace: world.home }
    expect(summaryOf(decidedOn(request, around))).toBe('PendingApproval:')
  })

  test('row 99: a request is not created with an approval', async () => {
    const body = assignment('created-approved')
    const path = `${API}/namespaces/${world.home}/roleassignments`
    const shown = { metadata: { generation: 1, uid: 'unknown-yet' } }
    const status = { approvals: [entry(shown, 'ann')], conditions: [condition(shown, 'ann')] }
    const request = await world.who('carol').do('POST', path, { ...body, status })
    expect(request.status).toBeUndefined()
    expect(summaryOf(decidedOn(request, surroundings(1)))).toBe('PendingApproval:')
  })

  test('row 99: an edit does not approve', async () => {
    const request = await world.request()
    const status = { approvals: [entry(request, 'carol')] }
    const after = await done(merge(world.who('carol'), request, { status, spec: { roles: ['auditor'] } }))
    expect(after.status).toBeUndefined()
  })

  test('row 100: an author is refused by RBAC, and with rights on status by the policy', async () => {
    const request = await world.request()
    const approved = (name: string) => ({ conditions: [condition(request, name)] })
    const byRbac = await mergeStatus(world.who('carol'), request, approved('carol'))
    expect(verdict(byRbac)).toMatch(/^403 .*cannot patch resource "roleassignments\/status"/)
    const byPolicy = await mergeStatus(world.who('mallory'), request, approved('mallory'))
    expect(verdict(byPolicy)).toMatch(/^403 .*realmkeeper-roleassignment-decisions.* mallory needs the verb approve/)
  })

  test.for([
    ['dora', 'dora'],
    ['ANN', 'ann'],
    ['greg', 'platform'],
  ] as const)('row 101: %s cannot approve a request by %s', async ([name, requestedBy]) => {
    const request = await resolvedRequest(world, { spec: { requestedBy } })
    const byEntry = await applyStatus(world.who(name), request, { approvals: [entry(request, name)] })
    expect(verdict(byEntry)).toMatch(/^403 .*the requester cannot decide$/)
    const byCondition = await mergeStatus(world.who(name), request, { conditions: [condition(request, name)] })
    expect(verdict(byCondition)).toMatch(/^403 .*the requester cannot decide$/)
  })

  test.for([
    ['row 102: GitOps', 'gitops'],
    ['row 103: the operator', 'operator'],
  ] as const)('%s does not decide', async ([, who]) => {
    const request = await resolvedRequest(world)
    const account = world.who(who)
    for (const status of [
      { approvals: [entry(request, account.name)] },
      { approvals: [entry(request, 'ann')] },
      { conditions: [ready(request), condition(request, account.name)] },
    ])
      expect(verdict(await mergeStatus(account, request, status))).toMatch(/^403 .*needs the verb approve/)
  })

  test('row 104: an approver cannot write conditions of the operator; a Ready removed by a merge patch comes back', async () => {
    const request = await resolvedRequest(world)
    const granted = ready(request, { status: 'True', reason: 'Granted' })
    const conditions = [granted, condition(request, 'ann')]
    expect(verdict(await mergeStatus(world.who('ann'), request, { conditions }))).toMatch(
      /^403 .*only the operator may write conditions other than Approved and Denied$/,
    )

    await done(mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann')] }))
    const after = await done(applyStatus(world.who('operator'), request, { conditions: [ready(request)] }))
    expect(after.status.conditions.map(({ type }: Stored) => type).toSorted()).toEqual(['Approved', 'Ready'])
  })

  test('row 105: the approver of one realm cannot decide for another, nor the owner of a namespace for a Realm in another namespace', async () => {
    const { away } = world
    const attempts: [string, Stored][] = [
      ['rita', await world.request({ realm: 'globex' })],
      ['rita', await world.request({ realm: 'globex', namespace: away })],
      ['olga', await world.request({ namespace: away })],
    ]
    for (const [name, request] of attempts) {
      const answer = await mergeStatus(world.who(name), request, { conditions: [condition(request, name)] })
      expect(verdict(answer)).toMatch(/^403 .*and on realms.realmkeeper.io\/(acme|globex) in rows-home$/)
    }
  })

  test.for([
    ['status False', { status: 'False' }],
    ['status Unknown', { status: 'Unknown' }],
    ['an empty reason', { reason: '' }],
  ] as const)('row 106: a condition with %s is refused', async ([, overrides]) => {
    const request = await world.request()
    const answer = await mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann', overrides)] })
    expect(answer.status).toBe(422)
  })

  test('row 106: a decision on the present generation cannot be doubled, removed or changed', async () => {
    const request = await world.request()
    const own = condition(request, 'ann')
    await done(mergeStatus(world.who('ann'), request, { conditions: [own] }))
    const denied = condition(request, 'ann', { type: 'Denied' })
    for (const conditions of [[own, denied], [], [{ ...own, reason: 'Changed' }], [{ ...own, status: 'False' }]])
      expect((await mergeStatus(world.who('ann'), request, { conditions })).status).toBe(422)
    expect((await read(world.who('ann'), request)).status.conditions).toEqual([own])
  })

  test('row 107: after an edit, roles still listed stay, added roles wait, removed roles are revoked', async () => {
    const around = surroundings(1)
    const request = await approve(await world.request({ spec: { roles: ['editor', 'auditor'] } }))
    expect(summaryOf(decidedOn(request, around))).toBe('Granted: auditor editor viewer')

    const spec = { roles: ['auditor', '_svc_dob.selfdecrypt'] }
    const after = await done(merge(world.who('gitops'), request, { spec }))
    expect(summaryOf(decidedOn(after, around))).toBe('PendingApproval: auditor')
    const again = await applyStatus(world.who('ann'), after, request.status)
    expect(verdict(again)).toBe('passes')
    expect(summaryOf(decidedOn(again.body, around))).toBe('PendingApproval: auditor')
  })

  test('row 108: an edit back does not restore revoked roles', async () => {
    const around = surroundings(1)
    const request = await approve(await world.request({ spec: { roles: ['editor', 'auditor'] } }))
    decidedOn(request, around)
    const less = await done(merge(world.who('gitops'), request, { spec: { roles: ['auditor'] } }))
    decidedOn(less, around)
    const back = await done(merge(world.who('gitops'), less, { spec: { roles: ['editor', 'auditor'] } }))
    expect(summaryOf(decidedOn(back, around))).toBe('PendingApproval: auditor')
    expect(summaryOf(decidedOn(await approve(back), around))).toBe('Granted: auditor editor viewer')
  })

  test('row 109: an approval of an earlier generation or resourceVersion is refused', async () => {
    const seen = await resolvedRequest(world)
    const present = await edited(world, seen)
    const stale = await applyStatus(world.who('ann'), seen, { approvals: [entry(seen, 'ann')] })
    expect(verdict(stale)).toMatch(/^422 .*observedGeneration: 2, observedUID: /)

    const { resourceVersion } = seen.metadata
    const answer = await world
      .who('ann')
      .call(
        'PATCH',
        `${pathOf(seen)}/status`,
        { metadata: { resourceVersion }, status: { conditions: [condition(present, 'ann')] } },
        { contentType: 'application/merge-patch+json' },
      )
    expect(answer.status).toBe(409)
  })

  test('row 110: a re-created object starts from an empty state, also while an approver reviews it', async () => {
    const around = surroundings(1)
    const seen = await approve(await world.request({ spec: { roles: ['auditor'] } }))
    expect(summaryOf(decidedOn(seen, around))).toBe('Granted: auditor')
    await world.who('gitops').do('DELETE', pathOf(seen))
    const recreated = await world.request({ metadata: { name: seen.metadata.name } })
    expect(summaryOf(decidedOn(recreated, around))).toBe('PendingApproval:')
    const answer = await applyStatus(world.who('amy'), seen, { approvals: [entry(seen, 'amy')] })
    expect(verdict(answer)).toMatch(/^422 .*a decision must name the version that it covers/)
  })

  test('row 110: a status restored with its object approves nothing', async () => {
    const seen = await approve(await world.request({ spec: { roles: ['auditor'] } }))
    await world.who('gitops').do('DELETE', pathOf(seen))
    const recreated = await world.request({ metadata: { name: seen.metadata.name }, spec: { roles: ['auditor'] } })
    for (const who of ['gitops', 'ann', 'star'])
      expect((await mergeStatus(world.who(who), recreated, seen.status)).status).toBeOneOf([403, 422])
  })

  test('row 111: labels, annotations and finalizers make no new generation', async () => {
    const around = surroundings(1)
    const request = await approve(await world.request({ spec: { roles: ['auditor'] } }))
    decidedOn(request, around)
    const metadata = { labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['example.com/kept'] }
    const after = await done(merge(world.who('mallory'), request, { metadata }))
    expect(after.metadata.generation).toBe(1)
    expect(summaryOf(decidedOn(after, around))).toBe('Granted: auditor')
  })

  test('row 112: composites added later wait for a decision', async () => {
    const around = surroundings(1)
    const request = await approve(await world.request({ spec: { roles: ['editor'] } }))
    expect(summaryOf(decidedOn(request, around))).toBe('Granted: editor viewer')
    const wider = { name: 'editor', composites: ['viewer', 'auditor'] }
    around.realm = { ...around.realm, roles: around.realm.roles.map((role) => (role.name === 'editor' ? wider : role)) }
    expect(summaryOf(decidedOn(request, around))).toBe('Granted: editor viewer')
  })

  test('row 113: an approver who loses the right cannot decide, and their past decisions stay', async () => {
    const around = surroundings(1)
    const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
    await cluster.admin.do('POST', bindings, {
      metadata: { name: 'leaver' },
      subjects: [{ kind: 'User', name: 'lea', apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { kind: 'ClusterRole', name: 'test:approver', apiGroup: 'rbac.authorization.k8s.io' },
    })
    const first = await world.request({ spec: { roles: ['auditor'] } })
    await expect
      .poll(async () => verdict(await applyStatus(world.who('lea'), first, { approvals: [entry(first, 'lea')] })))
      .toBe('passes')
    await cluster.admin.do('DELETE', `${bindings}/leaver`)

    const second = await resolvedRequest(world)
    await expect
      .poll(async () => {
        const approvals = [entry(second, 'lea', { decision: 'Denied' })]
        return (await applyStatus(world.who('lea'), second, { approvals })).status
      })
      .toBe(403)
    expect(summaryOf(decidedOn(await read(world.who('ann'), first), around))).toBe('Granted: auditor')
  })

  test('with a quorum of two, two racing approvers both count', async () => {
    for (let round = 0; round < 25; round++) {
      const request = await world.request({ spec: { roles: ['auditor'] } })
      await Promise.all([approve(request, 'ann'), approve(request, 'amy')])
      const after = await read(world.who('ann'), request)
      expect(after.status.approvals.map(({ approver }: Stored) => approver).toSorted()).toEqual(['amy', 'ann'])
      expect(summaryOf(decidedOn(after, surroundings(2)))).toBe('Granted: auditor')
    }
  })

  test('an approval that races an edit or a re-creation covers the version that the approver saw', async () => {
    const fates = new Set<string>()
    for (let round = 0; round < 40; round++) {
      const seen = await world.request({ spec: { roles: ['auditor'] } })
      const approval = applyStatus(world.who('ann'), seen, { approvals: [entry(seen, 'ann')] })
      const spec = { roles: ['manager'] }
      const change =
        round % 2 === 0
          ? merge(world.who('gitops'), seen, { spec })
          : world
              .who('gitops')
              .call('DELETE', pathOf(seen))
              .then(() => world.request({ metadata: { name: seen.metadata.name }, spec }))
      const [{ status }] = await Promise.all([approval, change])
      fates.add(status < 300 ? 'approved' : 'refused')
      const after = await read(world.who('ann'), seen)
      expect(after.spec.roles).toEqual(['manager'])
      expect(summaryOf(decidedOn(after, surroundings(1)))).toBe('PendingApproval:')
    }
    // It went either way, or there was no race.
    expect(fates).toContain('approved')
  })

  test('with a quorum of two, an entry and a condition by two approvers count', async () => {
    const request = await approve(await world.request({ spec: { roles: ['auditor'] } }))
    const after = await done(mergeStatus(world.who('amy'), request, { conditions: [condition(request, 'amy')] }))
    expect(summaryOf(decidedOn(after, surroundings(2)))).toBe('Granted: auditor')
  })

  test('with a quorum of two, one approver counts once, deciding twice or in both forms', async () => {
    const request = await approve(await approve(await world.request()))
    const after = await done(mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann')] }))
    expect(after.status).toMatchObject({ approvals: [{ approver: 'ann' }], conditions: [{ decidedBy: 'ann' }] })
    const decided = decidedOn(after, surroundings(2))
    expect(summaryOf(decided)).toBe('QuorumNotReached:')
    expect(decided.newDecisions.map(({ approver }) => approver)).toEqual(['ann'])
  })

  // The last one: it takes the policies away.
  test('row 114: a decision that is forged while the policies are away does not count', async () => {
    const request = await world.request()
    await removePolicies(cluster.admin)
    const forge = () => mergeStatus(world.who('mallory'), request, { approvals: [entry(request, 'ann')] })
    await expect.poll(async () => verdict(await forge()), { timeout: 120_000 }).toBe('passes')
    await installPolicies(cluster.admin)
    await untilActing(world)

    const forged = await read(world.who('ann'), request)
    const around = surroundings(1)
    around.enforcement = { mode: 'gap', required: true }
    expect(summaryOf(decidedOn(forged, around))).toBe('ApprovalNotEnforced:')
    around.enforcement = { mode: 'enforced', required: true }
    expect(summaryOf(decidedOn(forged, around))).toBe('DecisionUnproven:')
    const recreated = await edited(world, forged)
    expect(summaryOf(decidedOn(await approve(recreated, 'amy'), around))).toBe('Granted: editor manager viewer')
  })
})
