import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAssignment } from '../../../../cli/decisions/cluster/cluster_assignments.ts'
import { decideInCluster } from '../../../../cli/decisions/cluster/decide_in_cluster.ts'
import { connectCluster, readUserName } from '../../../../cli/cluster.ts'
import { decisionsWorld, NAMESPACE, pathOf, removedAfter } from './world.ts'
import type { DecisionsWorld } from './world.ts'

const HERE = ['-n', NAMESPACE]

describe('decisions in a cluster', () => {
  let world: DecisionsWorld
  beforeAll(async () => {
    world = await decisionsWorld()
  })
  afterAll(() => world?.plane.stop())

  test('pending prints a table, and marks a requester that may be a claim', async () => {
    removedAfter(world, 'direct', 'by-gitops', 'by-named-gitops')
    await world.request('direct', { submittedBy: 'author' })
    await world.request('by-named-gitops', { by: world.gitops, requestedBy: 'carol', submittedBy: 'gitops' })
    await world.request('by-gitops', { by: world.gitops, requestedBy: 'carol', fieldManager: 'argocd-controller' })

    const { code, stdout, stderr } = await world.as(world.ann, ['pending', ...HERE])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(4)
    expect(stdout).toMatch(/^team +direct +user\/alice +reader +author +0 of 2 +\d+s +PendingApproval$/m)
    expect(stdout).toMatch(/^team +by-gitops .* carol \(a claim, written with argocd-controller\) +0 of 2 /m)
    expect(stdout).toMatch(/^team +by-named-gitops .* carol \(as claimed by gitops\) +0 of 2 /m)

    const everywhere = await world.as(world.ann, ['pending', '-A', '-o', 'name'])
    expect(everywhere.stdout.trim().split('\n').toSorted()).toEqual([
      'roleassignment.realmkeeper.io/by-gitops',
      'roleassignment.realmkeeper.io/by-named-gitops',
      'roleassignment.realmkeeper.io/direct',
    ])
    const nothing = await world.as(world.ann, ['pending'])
    expect(nothing.stdout).toBe('no RoleAssignment waits for a decision\n')
  })

  test('an approval is one entry under the approver’s own field manager, for the version seen', async () => {
    removedAfter(world, 'one')
    await world.request('one')
    const args = ['approve', 'one', ...HERE, '--comment', 'as agreed', '--no-wait']
    const { code, stdout, stderr } = await world.as(world.ann, args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe('team/one approved by ann (generation 1: reader for alice)\n')

    const { metadata, status } = await world.read('one')
    expect(status?.approvals).toEqual([
      {
        approver: 'ann',
        decision: 'Approved',
        comment: 'as agreed',
        observedGeneration: 1,
        observedUID: metadata.uid,
        decidedAt: expect.stringMatching(/Z$/),
      },
    ])
    const digest = createHash('sha256').update('ann').digest('hex').slice(0, 16)
    expect(metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: `realmkeeper-approver-${digest}`, subresource: 'status' }),
    )

    const again = await world.as(world.ann, args)
    expect(again).toMatchObject({ code: 0, stdout: 'team/one was already approved by ann\n' })
    const shown = await world.as(world.bea, ['show', 'one', ...HERE])
    expect(shown.stdout).toMatch(/^approved +1 of 2$/m)
    expect(shown.stdout).toMatch(/^ +Approved by ann at .*: as agreed$/m)
    const json = JSON.parse((await world.as(world.bea, ['show', 'one', ...HERE, '-o', 'json'])).stdout)
    expect(json).toMatchObject({ name: 'one', quorum: { approved: 1, required: 2 }, change: { adds: ['reader'] } })
  })

  test('two spellings of one name count once', async () => {
    removedAfter(world, 'spelled')
    await world.request('spelled')
    for (const account of [world.ann, world.plane.user('ANN', ['approvers'])]) {
      expect(await world.as(account, ['approve', 'spelled', ...HERE, '--no-wait'])).toMatchObject({ code: 0 })
    }
    const shown = await world.as(world.bea, ['show', 'spelled', ...HERE])
    expect(shown.stdout).toMatch(/^approved +1 of 2$/m)
    expect(shown.stdout).toMatch(/^ +Approved by ANN at .* \(does not count: counts once, with that of ann\)$/m)
    const pending = await world.as(world.bea, ['pending', ...HERE])
    expect(pending.stdout).toMatch(/ spelled .* 1 of 2 /)
  })

  test('with a quorum of two, simultaneous approvals both count', async () => {
    const names = ['race-0', 'race-1', 'race-2', 'race-3']
    removedAfter(world, ...names)
    for (const name of names) await world.request(name)
    const results = await Promise.all(
      [world.ann, world.bea].map((account) => world.as(account, ['approve', ...names, ...HERE, '--no-wait'])),
    )
    expect(results.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
      { code: 0, stderr: '' },
      { code: 0, stderr: '' },
    ])
    for (const name of names) {
      const { status } = await world.read(name)
      expect(status?.approvals?.map(({ approver }) => approver).toSorted()).toEqual(['ann', 'bea'])
    }
  })

  test('labels select pending RoleAssignments; one command decides on several', async () => {
    removedAfter(world, 'a', 'b', 'c')
    await world.request('a', { labels: { team: 'blue' } })
    await world.request('b', { labels: { team: 'blue' } })
    await world.request('c', { labels: { team: 'red' } })
    const { code, stdout } = await world.as(world.ann, [
      'approve',
      '-l',
      'team=blue',
      ...HERE,
      '-o',
      'name',
      '--no-wait',
    ])
    expect(code).toBe(0)
    expect(stdout.trim().split('\n').toSorted()).toEqual([
      'roleassignment.realmkeeper.io/a',
      'roleassignment.realmkeeper.io/b',
    ])
    expect((await world.read('c')).status?.approvals).toBeUndefined()

    const denied = await world.as(world.bea, [
      'deny',
      'a',
      'roleassignment.realmkeeper.io/c',
      ...HERE,
      '-o',
      'json',
      '--no-wait',
    ])
    expect(JSON.parse(denied.stdout)).toMatchObject([
      { outcome: 'recorded', name: 'a', decisions: [{ approver: 'ann' }, { approver: 'bea', decision: 'Denied' }] },
      { outcome: 'recorded', name: 'c' },
    ])
    const none = await world.as(world.ann, ['approve', '-l', 'team=green', ...HERE])
    expect(none).toMatchObject({ code: 1, stderr: 'realmkeeper: no pending RoleAssignment has these labels\n' })
  })

  test('row 101: the policy refuses the requester, and the next RoleAssignment is decided nevertheless', async () => {
    removedAfter(world, 'own', 'others')
    await world.request('own', { by: world.gitops, requestedBy: 'ann' })
    await world.request('others')
    const { code, stdout, stderr } = await world.as(world.ann, ['approve', 'own', 'others', ...HERE, '--no-wait'])
    expect(code).toBe(1)
    expect(stderr).toContain('RoleAssignment team/own is not decided: ')
    expect(stderr).toContain('the requester cannot decide')
    expect(stderr).toContain("ValidatingAdmissionPolicy 'realmkeeper-roleassignment-decisions'")
    expect(stdout).toBe('team/others approved by ann (generation 1: reader for alice)\n')
    expect((await world.read('own')).status?.approvals).toBeUndefined()
  })

  test('row 139: the policy refuses a former requester, whom show names', async () => {
    removedAfter(world, 'taken-over')
    await world.request('taken-over', { by: world.gitops, requestedBy: 'carol', formerRequesters: ['ann'] })
    const { stdout } = await world.as(world.ann, ['show', 'taken-over', ...HERE])
    expect(stdout).toMatch(/^also written by +ann$/m)
    const { code, stderr } = await world.as(world.ann, ['approve', 'taken-over', ...HERE, '--no-wait'])
    expect(code).toBe(1)
    expect(stderr).toContain(
      'an account that wrote the request (spec.submittedBy, spec.formerRequesters) cannot decide',
    )
  })

  test('row 100: the refusal of an author who may write status, but not approve, names the missing right', async () => {
    removedAfter(world, 'mine')
    await world.request('mine', { by: world.gitops, requestedBy: 'carol' })
    const { code, stderr } = await world.as(world.author, ['approve', 'mine', ...HERE])
    expect(code).toBe(1)
    expect(stderr).toContain('author needs the verb approve on roleassignments.realmkeeper.io/mine')
  })

  test('--as decides as an approver, where the caller may impersonate', async () => {
    removedAfter(world, 'for-ann')
    await world.request('for-ann')
    const operations = world.plane.user('ops', ['operations'])
    const refused = await world.as(operations, ['approve', 'for-ann', ...HERE, '--as', 'ann'])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('cannot impersonate')

    const allowed = world.plane.user('operations')
    const { code, stdout } = await world.as(allowed, ['approve', 'for-ann', ...HERE, '--as', 'ann', '--no-wait'])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'team/for-ann approved by ann (generation 1: reader for alice)\n',
    })
    expect((await world.read('for-ann')).status?.approvals).toMatchObject([{ approver: 'ann' }])
  })

  test('--as brings no groups: --as-group names each', async () => {
    removedAfter(world, 'for-cleo')
    await world.request('for-cleo')
    const operations = world.plane.user('operations')
    const approve = (...more: string[]) =>
      world.as(operations, ['approve', 'for-cleo', '-n=team', '--as', 'cleo', '--no-wait', ...more])
    expect((await approve()).stderr).toContain('is forbidden')
    expect((await approve('--as-group', 'visitors')).stderr).toContain('is forbidden')
    expect((await approve('--as-group', 'admins')).stderr).toContain('cannot impersonate')
    const { code, stdout } = await approve('--as-group', 'visitors', '--as-group=approvers')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'team/for-cleo approved by cleo (generation 1: reader for alice)\n',
    })
    expect((await world.read('for-cleo')).status?.approvals).toMatchObject([{ approver: 'cleo' }])
  })

  test('a RoleAssignment that changes in the meantime is refused, shown again and confirmed again', async () => {
    removedAfter(world, 'moving')
    await world.request('moving')
    const cluster = connectCluster({ kubeconfig: world.ann.kubeconfig, namespace: NAMESPACE })
    const asked: { roles: string[]; difference: string[] }[] = []
    const decide = async (answers: boolean[]) =>
      decideInCluster(
        {
          cluster,
          userName: await readUserName(cluster),
          decision: 'Approved',
          now: () => new Date(),
          async ask(row, difference) {
            asked.push({ roles: row.roles, difference })
            if (asked.length === 1) await world.request('moving', { roles: ['reader', 'writer'] })
            return answers[asked.length - 1] ?? false
          },
        },
        await readAssignment(cluster, { namespace: NAMESPACE, name: 'moving' }, new Date()),
      )
    expect(await decide([true, false])).toMatchObject({ outcome: 'declined' })
    expect(asked).toEqual([
      { roles: ['reader'], difference: [] },
      {
        roles: ['reader', 'writer'],
        difference: ['generation: 1 → 2', 'roles: reader → reader, writer', 'adds: reader → reader, writer'],
      },
    ])
    expect((await world.read('moving')).status?.approvals).toBeUndefined()

    expect(await decide([true, true, true])).toMatchObject({ outcome: 'recorded', row: { generation: 2 } })
    expect((await world.read('moving')).status?.approvals).toMatchObject([{ observedGeneration: 2 }])
    cluster.close()
  })

  test('without a terminal, a RoleAssignment that changed or was re-created is not decided on', async () => {
    removedAfter(world, 'edited', 'swapped')
    await world.request('edited')
    await world.request('swapped')
    const cluster = connectCluster({ kubeconfig: world.ann.kubeconfig, namespace: NAMESPACE })
    const options = { cluster, userName: 'ann', decision: 'Approved' as const, now: () => new Date() }
    const seen = (name: string) => readAssignment(cluster, { namespace: NAMESPACE, name }, new Date())
    const [edited, swapped] = [await seen('edited'), await seen('swapped')]

    await world.request('edited', { roles: ['writer'] })
    await expect(decideInCluster(options, edited)).rejects.toThrow(
      [
        'RoleAssignment team/edited was changed while you decided, so no decision is recorded:',
        '  generation: 1 → 2',
        '  roles: reader → writer',
        '  adds: reader → writer',
        'read it (realmkeeper show edited -n team) and decide again',
      ].join('\n'),
    )
    await world.author.do('DELETE', `/apis/realmkeeper.io/v1alpha1/namespaces/${NAMESPACE}/roleassignments/swapped`)
    await world.request('swapped', { roles: ['writer'] })
    await expect(decideInCluster(options, swapped)).rejects.toThrow(
      '  it is another object: it was deleted and created',
    )
    for (const name of ['edited', 'swapped']) expect((await world.read(name)).status?.approvals).toBeUndefined()
    cluster.close()
  })

  test('an approval waits until the operator has resolved the request; a denial does not wait', async () => {
    removedAfter(world, 'early')
    await world.request('early', { resolved: false })
    const { code, stderr } = await world.as(world.ann, ['approve', 'early', ...HERE])
    expect(code).toBe(1)
    expect(stderr).toContain('cannot be approved yet (the operator has not reconciled it)')
    const late = world.as(world.ann, ['approve', 'early', ...HERE, '--no-wait'])
    await world.resolve('early')
    expect(await late).toMatchObject({ code: 0 })
    expect(await world.as(world.bea, ['deny', 'early', ...HERE, '--no-wait'])).toMatchObject({ code: 0 })
  })

  test('an approver denies after an approval that another tool wrote', async () => {
    removedAfter(world, 'regretted')
    await world.request('regretted')
    const { uid } = (await world.read('regretted')).metadata
    const approvals = [{ approver: 'ann', decision: 'Approved', observedGeneration: 1, observedUID: uid }]
    const path = `${pathOf('roleassignments', 'regretted')}/status?fieldManager=a-script`
    await world.ann.do('PATCH', path, { status: { approvals } }, { contentType: 'application/merge-patch+json' })
    const again = await world.as(world.ann, ['approve', 'regretted', ...HERE])
    expect(again.stdout).toBe('team/regretted was already approved by ann\n')
    expect(await world.as(world.ann, ['deny', 'regretted', ...HERE, '--no-wait'])).toMatchObject({ code: 0 })
    expect((await world.read('regretted')).status?.approvals).toMatchObject([{ approver: 'ann', decision: 'Denied' }])
  })

  test('the result of the operator is printed as soon as it is published', async () => {
    removedAfter(world, 'waited')
    await world.request('waited')
    const approving = world.as(world.ann, ['approve', 'waited', ...HERE])
    while ((await world.read('waited')).status?.approvals === undefined) await sleep(50)
    await world.resolve('waited', { reason: 'QuorumNotReached', message: '1 of 2 approvals; by ann' })
    expect(await approving).toEqual({
      code: 0,
      stderr: '',
      stdout:
        'team/waited approved by ann (generation 1: reader for alice)\nteam/waited waiting: 1 of 2 approvals; by ann\n',
    })
    const silent = await world.as(world.bea, ['approve', 'waited', ...HERE])
    expect(silent.stdout).toContain('team/waited written; the operator has not reconciled it yet')
  })

  test('a closed request is not approved: only an edit reopens it', async () => {
    removedAfter(world, 'closed', 'late')
    await world.request('closed')
    await world.as(world.bea, ['deny', 'closed', ...HERE, '--no-wait'])
    const closed = await world.as(world.ann, ['approve', 'closed', ...HERE])
    expect(closed.code).toBe(1)
    expect(closed.stderr).toContain('team/closed is not approved (denied by bea); only an edit of its spec opens it')

    await world.request('late')
    await world.resolve('late', { reason: 'Expired', message: 'no decision was made in time' })
    const late = await world.as(world.ann, ['approve', 'late', ...HERE])
    expect(late.stderr).toContain('team/late is not approved (Expired: no decision was made in time); only an edit')
    expect((await world.as(world.ann, ['pending', ...HERE])).stdout).not.toContain('late')

    const unproven = { reason: 'DecisionUnproven', message: 'written while the policies were not in force' }
    await world.resolve('late', unproven, { startsOver: 'DecisionUnproven' })
    const early = await world.as(world.ann, ['approve', 'late', ...HERE])
    expect(early.stderr).toContain('team/late is not approved (DecisionUnproven: written while the policies were not')
    // Approvals of others may be unproven while further ones count.
    await world.resolve('late', unproven)
    expect(await world.as(world.ann, ['approve', 'late', ...HERE, '--no-wait'])).toMatchObject({ code: 0 })

    await world.request('late', { roles: ['writer'], resolved: false })
    expect((await world.as(world.ann, ['pending', ...HERE])).stdout).toMatch(/ late .* not reconciled yet$/m)
    await world.resolve('late')
    expect(await world.as(world.ann, ['approve', 'late', ...HERE, '--no-wait'])).toMatchObject({ code: 0 })
  })

  test('--seen decides only on the version shown before', async () => {
    removedAfter(world, 'scripted')
    await world.request('scripted')
    const { stdout } = await world.as(world.ann, ['show', 'scripted', ...HERE])
    const [, seen = ''] = /^seen +(1\/\S+)$/m.exec(stdout) ?? []
    expect(seen).not.toBe('')
    await world.request('scripted', { roles: ['writer'] })
    const refused = await world.as(world.ann, ['approve', 'scripted', ...HERE, '--seen', seen])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/team\/scripted is 2\/.* now, not the version in --seen/)
    const { metadata } = await world.read('scripted')
    const again = await world.as(world.ann, [
      'approve',
      'scripted',
      ...HERE,
      '--seen',
      `2/${metadata.uid}`,
      '--no-wait',
    ])
    expect(again).toMatchObject({ code: 0, stderr: '' })
  })

  test('row 127: texts of others stay on their line of the terminal', async () => {
    removedAfter(world, 'spoofed')
    await world.request('spoofed', { roles: ['reader\u202Eretirw', 'a\u200Bb'] })
    const { stdout } = await world.as(world.ann, ['show', 'spoofed', ...HERE])
    expect(stdout).toMatch(/^roles +a\uFFFDb, reader\uFFFDretirw$|^roles +reader\uFFFDretirw, a\uFFFDb$/m)
  })

  test('errors name the problem and set the exit code', async () => {
    const cases: [string[], number, string][] = [
      [['approve', ...HERE], 2, 'give names, or labels with -l'],
      [['approve', 'x', '-l', 'a=b'], 2, 'give names, or labels with -l, not both'],
      [['show', 'stranger', ...HERE], 1, 'roleassignments.realmkeeper.io "stranger" not found'],
      [['pending', '--context', 'elsewhere'], 1, 'the context "elsewhere" names no cluster'],
      [['approve', 'a', 'b', '--seen', '1/x'], 2, '--seen needs exactly one name'],
      [['pending', '--dir', '.', '--as-group', 'a'], 2, '--as-group selects a cluster'],
      [['pending', '--as-group', 'approvers'], 2, '--as-group needs --as, the user who is in these groups'],
      [['pending', '--dir', '.', '-A'], 2, '--all-namespaces selects a cluster'],
      [['pending', '-n', 'secret-place', '--as', 'mallory'], 1, 'cannot impersonate'],
    ]
    for (const [args, code, message] of cases) {
      const result = await world.as(world.ann, args)
      expect({ args, code: result.code }).toEqual({ args, code })
      expect(result.stderr).toContain(message)
    }
    const stranger = world.plane.user('stranger')
    const refused = await world.as(stranger, ['pending', ...HERE])
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('RoleAssignments of namespace team: roleassignments.realmkeeper.io is forbidden')
  })
})
