import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { installCrds, startControlPlane, untilServed } from '../../../support/control_plane.ts'
import type { ControlPlane } from '../../../support/control_plane.ts'
import { JSON_PATCH, MERGE_PATCH, accountOf } from '../../../support/control_plane/account.ts'
import { untilRightsAct } from '../../../support/control_plane/rights.ts'
import { startFaultProxy } from '../../../support/fault_proxy.ts'
import type { FaultProxy } from '../../../support/fault_proxy.ts'
import type { Resource } from '../../../../operator/source/resource.ts'
import { assignment, client, key, realm, secret, user } from '../conformance.ts'
import { OPERATOR_RULES, grant } from './rights.ts'
import { clusterWorld, pathOf, prepareWorlds } from './world.ts'
import type { ClusterWorld, WorldOptions } from './world.ts'

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const alice = key('User', 'alice')

const ready = (message: string) => ({
  observedGeneration: 1,
  conditions: [{ type: 'Ready', status: 'True' as const, reason: 'Served', message }],
})

describe('resources of a cluster', () => {
  let plane: ControlPlane
  let folder: string

  beforeAll(async () => {
    plane = await startControlPlane({ controllers: true })
    await prepareWorlds(plane)
    folder = mkdtempSync(join(tmpdir(), 'realmkeeper-cluster-'))
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await plane?.stop()
  })

  /** A world whose source uses a proxy that records the requests. */
  async function proxiedWorld(options: WorldOptions = {}): Promise<ClusterWorld & { proxy: FaultProxy }> {
    const proxy = await startFaultProxy(plane, { as: plane.user('operator') })
    onTestFinished(() => proxy.stop())
    const as = accountOf('proxied', { server: proxy.url, ca: plane.authority.certificate }, folder)
    return { ...(await clusterWorld(plane, { as, ...options })), proxy }
  }

  const writes = ({ proxy }: { proxy: FaultProxy }): string[] =>
    proxy.requests.filter(({ method }) => method !== 'GET').map(({ method, url }) => `${method} ${url.split('?')[0]}`)

  async function received(world: ClusterWorld, manifest = user('alice')): Promise<string> {
    await world.apply(manifest)
    const { metadata } = await world.eventually(() => world.source().get(alice))
    return metadata.uid
  }

  describe('held objects', () => {
    test('contain of the metadata only what is for the operator: an author may fill 1.5 MB with the rest', async () => {
      const world = await clusterWorld(plane)
      const manifest = user('alice')
      const annotations = {
        note: 'x'.repeat(200_000),
        'realmkeeper.io/paused': 'false',
        'kubectl.kubernetes.io/last-applied-configuration': '{"a":1}',
      }
      Object.assign(manifest.metadata, { annotations, labels: { team: 'a' } })
      await received(world, manifest)
      const { metadata } = world.source().get(alice)!
      expect(metadata).not.toHaveProperty('managedFields')
      expect(metadata).not.toHaveProperty('labels')
      expect(metadata.annotations).toEqual({ 'realmkeeper.io/paused': 'false' })
    })

    test('row 122: three thousand objects are listed in pages, and all are held', async () => {
      const world = await proxiedWorld({ started: false })
      const names = Array.from({ length: 3_000 }, (_, index) => `user-${index}`)
      const waiting = [...names]
      const create = async (): Promise<void> => {
        for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
          await plane.admin.do('POST', pathOf('User', 'default'), user(name))
        }
      }
      await Promise.all(Array.from({ length: 12 }, create))
      await world.start()
      expect(world.source().list('User')).toHaveLength(3_000)
      const lists = world.proxy.requests.filter(({ url, isWatch }) => url.includes('/v1beta1/users?') && !isWatch)
      expect(lists).toHaveLength(12)
      expect(lists.every(({ url }) => url.includes('limit=250'))).toBe(true)
      await plane.admin.do('DELETE', pathOf('User', 'default'))
      await world.eventually(() => world.source().list('User').length === 0)
    }, 180_000)

    test('of Secrets have metadata only; the bytes are read on request', async () => {
      const world = await proxiedWorld()
      await world.apply(secret('alice-password', { password: 'only by name' }))
      const name = { namespace: 'default', name: 'alice-password' }
      await world.eventually(() => world.source().secrets.version(name))
      const reads = () => world.proxy.requests.filter(({ url }) => url.endsWith('/secrets/alice-password')).length
      expect(reads()).toBe(0)
      expect((await world.source().secrets.read(name))?.data['password']?.toString()).toBe('only by name')
      expect(reads()).toBe(1)
    })

    test('are complete for the next leader after catchUp: it lists after the call', async () => {
      const world = await proxiedWorld()
      world.proxy.setSilence(true)
      await world.apply(user('alice'))
      await world.source().catchUp?.()
      expect(world.source().get(alice)).toBeDefined()
      expect(world.source().problem()).toBeUndefined()
    })
  })

  describe('writes', () => {
    test('an unchanged status sends no request', async () => {
      const world = await proxiedWorld()
      const uid = await received(world)
      await world.source().writeStatus(alice, uid, ready('one'))
      await world.source().writeStatus(alice, uid, ready('one'))
      await world.source().setFinalizer(alice, uid, true)
      await world.source().setFinalizer(alice, uid, true)
      expect(writes(world)).toEqual([
        `PATCH ${pathOf('User', 'default', 'alice')}/status`,
        `PATCH ${pathOf('User', 'default', 'alice')}`,
      ])
    })

    test('a write notifies listeners once, with its answer, and not again with the watch', async () => {
      const world = await clusterWorld(plane)
      const uid = await received(world)
      await world.fence()
      for (let round = 0; round < 20; round++) {
        world.changedKeys()
        await world.source().writeStatus(alice, uid, ready(`round ${round}`))
        await world.fence()
        expect(world.changedKeys().filter((name) => name.startsWith('User/'))).toEqual(['User/default/alice'])
      }
    })

    test('the answer to a write is held at once', async () => {
      const world = await proxiedWorld()
      const uid = await received(world)
      world.proxy.setSilence(true)
      await world.source().writeStatus(alice, uid, ready('one'))
      expect(world.source().get(alice)?.status?.conditions).toHaveLength(1)
    })

    test('conditions of another manager stay its own', async () => {
      const world = await clusterWorld(plane)
      const uid = await received(world)
      const foreign = {
        type: 'Scanned',
        status: 'True',
        reason: 'Clean',
        message: '',
        lastTransitionTime: '2024-01-01T00:00:00Z',
      }
      const body = {
        apiVersion: 'realmkeeper.io/v1beta1',
        kind: 'User',
        metadata: {},
        status: { conditions: [foreign] },
      }
      const path = `${pathOf('User', 'default', 'alice')}/status`
      await plane.admin.do('PATCH', `${path}?fieldManager=scanner`, body, {
        contentType: 'application/apply-patch+yaml',
      })
      await world.eventually(() => world.source().get(alice)?.status?.conditions?.length === 1)
      await world.source().writeStatus(alice, uid, ready('one'))
      await world.source().writeStatus(alice, uid, ready('two'))
      const { metadata, status } = await plane.admin.do('GET', pathOf('User', 'default', 'alice'))
      expect(status.conditions).toHaveLength(2)
      const mine = metadata.managedFields.find(({ manager }: { manager: string }) => manager === 'realmkeeper-operator')
      expect(Object.keys(mine.fieldsV1['f:status']['f:conditions'])).toEqual(['k:{"type":"Ready"}'])
    })

    test('the operator removes a member of status that another client wrote', async () => {
      const world = await clusterWorld(plane)
      const uid = await received(world)
      const path = `${pathOf('User', 'default', 'alice')}/status`
      await plane.admin.do('PATCH', path, { status: { subject: 'by hand' } }, { contentType: MERGE_PATCH })
      await world.eventually(() => world.source().get(alice)?.status)
      await world.source().writeStatus(alice, uid, { ...ready('one'), fields: { subject: undefined } })
      expect((await plane.admin.do('GET', pathOf('User', 'default', 'alice'))).status).not.toHaveProperty('subject')
    })

    test('the operator removes a member of which managedFields gives a part to others', async () => {
      const world = await clusterWorld(plane)
      await world.apply(assignment('readers'))
      const readers = key('RoleAssignment', 'readers')
      const { uid } = (await world.eventually(() => world.source().get(readers))).metadata
      const path = pathOf('RoleAssignment', 'default', 'readers')
      const write = (granted: object | undefined): Promise<void> =>
        world.source().writeStatus(readers, uid, { ...ready('one'), fields: { granted } })
      const granted = async (): Promise<unknown> => (await plane.admin.do('GET', path)).status.granted
      const grant = (generation: number): object => {
        const times = { grantedAt: `2026-01-01T00:00:0${generation}Z`, governed: true, approvers: ['ann'] }
        return { generation, serving: { generation, realmUID: 'realm-1', roles: ['reader'], ...times } }
      }
      // Afterwards the operator shares the ownership of unchanged parts, and owns the rest alone.
      const clearOwners = (): Promise<unknown> =>
        plane.admin.do('PATCH', path, { metadata: { managedFields: [{}] } }, { contentType: MERGE_PATCH })

      await write(grant(1))
      await clearOwners()
      await write(grant(2))
      for (const generation of [3, 4]) {
        await write({ generation })
        expect(await granted()).toEqual({ generation })
      }
      await write(grant(5))
      await clearOwners()
      await write(grant(6))
      await write(undefined)
      expect(await granted()).toBeUndefined()
    })

    test('row 125: a status is written once, however often other clients change the object during the write', async () => {
      const world = await clusterWorld(plane)
      const uid = await received(world)
      const over = new AbortController()
      const meddle = async (): Promise<void> => {
        for (let round = 0; !over.signal.aborted; round++) {
          const body = { metadata: { labels: { round: String(round) } } }
          await plane.admin.do('PATCH', pathOf('User', 'default', 'alice'), body, { contentType: MERGE_PATCH })
        }
      }
      const meddling = meddle()
      let written = 0
      for (let round = 0; round < 40; round++) {
        await world
          .source()
          .writeStatus(alice, uid, ready(`round ${round}`))
          .then(
            () => written++,
            (error: unknown) => expect(error).toMatchObject({ name: 'ResourceConflict' }),
          )
      }
      over.abort()
      await meddling
      // Some writes may meet five other changes in a row.
      expect(written).toBeGreaterThan(0)
      await world.source().writeStatus(alice, uid, ready('last'))
      const { status } = await plane.admin.do('GET', pathOf('User', 'default', 'alice'))
      expect(status).toMatchObject({ conditions: [{ type: 'Ready', message: 'last' }] })
      expect(world.source().get(alice)?.metadata.generation).toBe(1)
    })

    test('an approval that its author changed since it was read is not removed', async () => {
      const world = await proxiedWorld()
      await world.apply(assignment('readers'))
      const readers = key('RoleAssignment', 'readers')
      const { uid } = (await world.eventually(() => world.source().get(readers))).metadata
      const entry = (decision: string) => ({ approver: 'ann', decision, observedGeneration: 1, observedUID: uid })
      await world.decide(readers, { approvals: [entry('Approved')] })
      await world.eventually(() => world.source().get(readers)?.status)
      await world.apply(assignment('readers', ['reader', 'writer']))
      await world.eventually(() => world.source().get(readers)?.metadata.generation === 2)
      world.proxy.setSilence(true)
      await world.decide(readers, { approvals: [{ ...entry('Approved'), observedGeneration: 2 }] })
      const patch = { observedGeneration: 2, conditions: [], removeApprovals: ['ann'] }
      const written = world.source().writeStatus(readers, uid, patch)
      await expect(written).rejects.toMatchObject({ name: 'ResourceConflict' })
      const { status } = await plane.admin.do('GET', pathOf('RoleAssignment', 'default', 'readers'))
      expect(status.approvals).toMatchObject([{ approver: 'ann', observedGeneration: 2 }])
    })

    test('a finalizer of another client stays when the operator adds and removes its own', async () => {
      const world = await clusterWorld(plane)
      const uid = await received(world)
      const path = pathOf('User', 'default', 'alice')
      const foreign = [{ op: 'add', path: '/metadata/finalizers', value: ['example.com/theirs'] }]
      await plane.admin.do('PATCH', path, foreign, { contentType: JSON_PATCH })
      await world.source().setFinalizer(alice, uid, true)
      expect((await plane.admin.do('GET', path)).metadata.finalizers).toEqual([
        'example.com/theirs',
        'realmkeeper.io/cleanup',
      ])
      await world.source().setFinalizer(alice, uid, false)
      expect((await plane.admin.do('GET', path)).metadata.finalizers).toEqual(['example.com/theirs'])
    })

    test('row 120: a process that does not lead writes nothing', async () => {
      let leads = true
      const world = await proxiedWorld({ mayWrite: () => leads })
      const uid = await received(world)
      leads = false
      const source = world.source()
      const refused = { name: 'ResourceConflict' }
      const name = { namespace: 'default', name: 'generated' }
      await expect(source.writeStatus(alice, uid, ready('one'))).rejects.toMatchObject(refused)
      await expect(source.setFinalizer(alice, uid, true)).rejects.toMatchObject(refused)
      await expect(source.secrets.create({ ...name, labels: {}, data: {} })).rejects.toMatchObject(refused)
      await expect(source.secrets.delete(name)).rejects.toMatchObject(refused)
      source.recordEvent(alice, { type: 'Warning', reason: 'Recorded', message: 'without leading' })
      await source.secrets.read(name)
      expect(writes(world)).toEqual([])
    })
  })

  describe('Events', () => {
    interface Event {
      reason: string
      message: string
      count: number
      involvedObject: { uid: string }
    }
    const events = async (reason: string): Promise<Event[]> => {
      const { items }: { items: Event[] } = await plane.admin.do('GET', '/api/v1/namespaces/default/events')
      return items.filter((event) => event.reason === reason)
    }
    const until = async (isMet: () => Promise<boolean>): Promise<void> => {
      for (let tries = 0; tries < 500 && !(await isMet()); tries++)
        await new Promise((resolve) => setTimeout(resolve, 20))
    }

    test('a repeated Event increments its count', async () => {
      const world = await clusterWorld(plane)
      const uid = await received(world)
      for (let round = 0; round < 3; round++) {
        world.source().recordEvent(alice, { type: 'Warning', reason: 'Counted', message: 'there is no Realm' })
      }
      await until(async () => (await events('Counted'))[0]?.count === 3)
      expect(await events('Counted')).toMatchObject([{ count: 3, involvedObject: { uid } }])
    })

    test('row 127: a message is one line without control characters, and is cut', async () => {
      const world = await clusterWorld(plane)
      await received(world)
      const message = `first\nsecond \u001b[31m${'x'.repeat(32_000)}`
      world.source().recordEvent(alice, { type: 'Warning', reason: 'Cleaned', message })
      await until(async () => (await events('Cleaned')).length === 1)
      const [event] = await events('Cleaned')
      expect(event?.message.length).toBeLessThan(1_100)
      expect(event?.message).toMatch(/^first\\u000asecond/)
    })

    test('their rate is bounded, for one object and in total', async () => {
      const world = await proxiedWorld()
      await received(world)
      for (let round = 0; round < 300; round++) {
        world.source().recordEvent(alice, { type: 'Warning', reason: 'Flood', message: `round ${round}` })
      }
      await until(async () => (await events('Flood')).length >= 25)
      await world.fence()
      expect(await events('Flood')).toHaveLength(25)
    })

    test('an Event about a missing object, or in a missing namespace, is dropped', async () => {
      const world = await proxiedWorld()
      world.source().recordEvent(key('User', 'missing'), { type: 'Warning', reason: 'Gone', message: 'gone' })
      world
        .source()
        .recordEvent(key('User', 'missing', 'nowhere'), { type: 'Warning', reason: 'Gone', message: 'gone' })
      await world.eventually(() => writes(world).length === 2)
      await received(world)
    })
  })

  describe('rights', () => {
    test('row 124: without the right to one kind the others are watched, and the missing right is reported', async () => {
      const rules = OPERATOR_RULES.map((rule) => ({
        ...rule,
        resources: rule.resources.filter((one) => one !== 'clients'),
      }))
      await grant(plane.admin, 'half', rules)
      const world = await clusterWorld(plane, { as: plane.user('half') })
      await world.apply(client('shop'))
      await received(world)
      expect(world.source().list('Client')).toEqual([])
      expect(world.source().completeList('Client')).toBeUndefined()
      expect(world.source().completeList('User')).toBeDefined()
      const what = 'clients.realmkeeper.io in all namespaces'
      expect(
        world
          .source()
          .watches()
          .find((watch) => watch.what === what)?.problem,
      ).toMatch(/clients.*forbidden.*lacks the right/)
      // Callers of the health port read it.
      expect(world.source().problem()).toBe(`${what} cannot be watched; the log of this process has the cause`)
      // Logged at the second failure in a row. When the definition of the kind arrives, the count begins again.
      await world.eventually(() => world.logged.join('').includes(`${what} cannot be watched`))
      const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/half'
      await plane.admin.do('PATCH', path, { rules: OPERATOR_RULES }, { contentType: MERGE_PATCH })
      await world.eventually(() => world.source().get(key('Client', 'shop')))
      await world.eventually(() => world.source().problem() === undefined)
    })

    test('without the right to namespaces their labels are unknown, and not empty', async () => {
      const rules = OPERATOR_RULES.filter((rule) => !rule.resources.includes('namespaces'))
      await grant(plane.admin, 'blind', rules)
      const world = await clusterWorld(plane, { as: plane.user('blind') })
      expect(world.source().namespaceLabels('default')).toBe('unknown')
      expect(world.source().problem()).toMatch(
        /^namespaces.* cannot be watched; the log of this process has the cause$/,
      )
      const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/blind'
      await plane.admin.do('PATCH', path, { rules: OPERATOR_RULES }, { contentType: MERGE_PATCH })
      await world.eventually(() => typeof world.source().namespaceLabels('default') === 'object')
      expect(world.source().namespaceLabels('nowhere')).toBeUndefined()
    })

    test('rights in some namespaces are enough to watch those', async () => {
      for (const name of ['one', 'two', 'keys', 'three']) {
        await plane.admin.call('POST', '/api/v1/namespaces', { metadata: { name, labels: { team: name } } })
      }
      const everywhere = OPERATOR_RULES.filter(({ resources }) => resources.includes('customresourcedefinitions'))
      const spaces = {
        apiGroups: [''],
        resources: ['namespaces'],
        resourceNames: ['one', 'two'],
        verbs: ['get', 'list', 'watch'],
      }
      await grant(plane.admin, 'scoped', [...everywhere, spaces])
      const inside = OPERATOR_RULES.filter(
        (rule) => !rule.resources.includes('namespaces') && !everywhere.includes(rule),
      )
      for (const namespace of ['one', 'two', 'keys']) {
        const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
        await plane.admin.do('POST', `${rbac}/roles`, { metadata: { name: 'scoped' }, rules: inside })
        await plane.admin.do('POST', `${rbac}/rolebindings`, {
          metadata: { name: 'scoped' },
          subjects: [{ kind: 'User', name: 'scoped', apiGroup: 'rbac.authorization.k8s.io' }],
          roleRef: { kind: 'Role', name: 'scoped', apiGroup: 'rbac.authorization.k8s.io' },
        })
      }
      await untilRightsAct(plane.admin, 'one', 'two', 'keys')
      const options = { as: plane.user('scoped'), namespaces: ['one', 'two'], keyringNamespace: 'keys' }
      const world = await clusterWorld(plane, options)
      expect(world.source().problem()).toBeUndefined()
      for (const namespace of ['one', 'two', 'three']) await world.apply(user('alice', {}, namespace))
      await world.eventually(() => world.source().list('User').length === 2)
      expect(world.source().get(key('User', 'alice', 'three'))).toBeUndefined()
      expect(world.source().namespaceLabels('two')).toMatchObject({ team: 'two' })
      expect(world.source().namespaceLabels('three')).toBe('unknown')
      const name = { namespace: 'keys', name: 'realm-acme-keyring' }
      await world.source().secrets.create({ ...name, labels: {}, data: {} })
      await world.eventually(() => world.source().secrets.version(name))
    })
  })

  test('many namespaces by name: a hundred watches leave room for calls', async () => {
    const namespaces = Array.from({ length: 20 }, (_, index) => `many-${index}`)
    const world = await clusterWorld(plane, { as: plane.admin, namespaces })
    expect(world.source().watches().length).toBeGreaterThan(100)
    await world.apply(user('alice', {}, 'many-19'))
    const there = key('User', 'alice', 'many-19')
    const { uid } = (await world.eventually(() => world.source().get(there))).metadata
    await world.source().writeStatus(there, uid, ready('one'))
    expect(world.source().problem()).toBeUndefined()
  })

  describe('a namespace that is deleted', () => {
    test('row 117: finalizers are removed, nothing is created there, and it disappears', async () => {
      const world = await clusterWorld(plane)
      await world.apply(user('alice', {}, 'leaving'))
      const there = key('User', 'alice', 'leaving')
      const { uid } = (await world.eventually(() => world.source().get(there))).metadata
      await world.source().setFinalizer(there, uid, true)
      await plane.admin.do('DELETE', '/api/v1/namespaces/leaving')
      const leaver = await world.eventually(() => {
        const resource = world.source().get(there)
        return resource?.metadata.deletionTimestamp !== undefined && resource
      })
      expect(await world.source().isOwnDeletion?.(leaver)).toBe(true)
      const desired = { namespace: 'leaving', name: 'generated', labels: {}, data: {} }
      await expect(world.source().secrets.create(desired)).rejects.toMatchObject({ name: 'ResourceConflict' })
      world.source().recordEvent(there, { type: 'Warning', reason: 'Leaving', message: 'goes' })
      await world.source().writeStatus(there, uid, ready('still here'))
      await world.source().setFinalizer(there, uid, false)
      await world.source().setFinalizer(there, uid, false)
      await world.eventually(() => world.source().namespaceLabels('leaving') === undefined)
      expect(world.source().get(there)).toBeUndefined()
    })
  })

  describe('a kind that is deleted', () => {
    async function remove(name: string): Promise<void> {
      await plane.admin.do('DELETE', `${CRDS}/${name}`)
    }
    async function restore(name: string): Promise<void> {
      for (let tries = 0; tries < 500; tries++) {
        if ((await plane.admin.call('GET', `${CRDS}/${name}`)).status === 404) break
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await installCrds({ ...plane.admin, do: async (...call) => (await plane.admin.call(...call)).body })
      await untilServed(plane.admin, pathOf('User'))
    }

    test('row 118: no deletion is reported under the former identity of the kind', async () => {
      const world = await proxiedWorld()
      await received(world)
      await world.apply(user('bob'))
      await world.fence()
      const before = world.source().completeList('User')?.identity
      expect(before).toBeDefined()
      const wrong: string[] = []
      world.source().onResource(({ kind, name }) => {
        if (kind !== 'User') return
        if (world.source().identity?.('User') === before) wrong.push(name)
      })
      // The deletions arrive before the events of the CustomResourceDefinition.
      world.proxy.setSilence('customresourcedefinitions')
      await remove('users.realmkeeper.io')
      await world.eventually(() => world.source().list('User').length === 0)
      await restore('users.realmkeeper.io')
      const after = await world.eventually(() => {
        const identity = world.source().completeList('User')?.identity
        return identity !== undefined && identity
      })
      expect(after).not.toBe(before)
      expect(wrong).toEqual([])
      await world.apply(user('alice'))
      await world.eventually(() => world.source().get(alice))
    })

    test('row 118: while it waits for finalizers its identity shows the deletion, and finalizers can be removed', async () => {
      const world = await proxiedWorld()
      const uid = await received(world)
      const before = world.source().completeList('User')?.identity
      await world.source().setFinalizer(alice, uid, true)
      world.proxy.setSilence('customresourcedefinitions')
      await remove('users.realmkeeper.io')
      await world.eventually(() => world.source().get(alice)?.metadata.deletionTimestamp)
      expect(world.source().identity?.('User')).toBe(`${before} being deleted`)
      expect(world.source().completeList('User')).toBeUndefined()
      await world.source().setFinalizer(alice, uid, false)
      await world.eventually(() => world.source().list('User').length === 0)
      await restore('users.realmkeeper.io')
      await world.eventually(() => world.source().problem() === undefined)
    })

    test('row 118: deleted and created again during an outage, it has another identity', async () => {
      const world = await proxiedWorld()
      await received(world)
      const before = world.source().completeList('User')?.identity
      world.proxy.setFault(() => ({ status: 503 }))
      world.proxy.cut()
      await remove('users.realmkeeper.io')
      await restore('users.realmkeeper.io')
      let wrong = 0
      world.source().onResource(() => {
        const empty = world.source().list('User').length === 0
        if (empty && world.source().completeList('User')?.identity === before) wrong += 1
      })
      // The new list arrives before the events of the CustomResourceDefinition.
      world.proxy.setFault(({ url }) => (url.includes('customresourcedefinitions?') ? { status: 503 } : undefined))
      await world.eventually(() => world.source().list('User').length === 0)
      await world.eventually(() => world.source().completeList('User'))
      expect(world.source().completeList('User')?.identity).not.toBe(before)
      expect(wrong).toBe(0)
    })

    /** The User alice, which is being deleted and has the operator's finalizer. */
    async function deletedAlice(world: ClusterWorld, remove: () => Promise<unknown>): Promise<Resource> {
      await world.source().setFinalizer(alice, await received(world), true)
      await remove()
      return await world.eventually(() => {
        const resource = world.source().get(alice)
        return resource?.metadata.deletionTimestamp !== undefined && resource
      })
    }
    async function deleteAlice(): Promise<void> {
      // Times have whole seconds: a deletion in the first second of the CRD would count as a leftover of a former one.
      const { metadata } = await plane.admin.do('GET', `${CRDS}/users.realmkeeper.io`)
      const age = Date.now() - Date.parse(metadata.creationTimestamp)
      if (age < 1_100) await new Promise((resolve) => setTimeout(resolve, 1_100 - age))
      await plane.admin.do('DELETE', pathOf('User', 'default', 'alice'))
    }

    test('row 118: the deletion of an object and the deletion of its kind are distinguished', async () => {
      const world = await proxiedWorld()
      const resource = await deletedAlice(world, deleteAlice)
      expect(await world.source().isOwnDeletion?.(resource)).toBe(true)
      // The held state is outdated, and no event will correct it.
      world.proxy.setSilence('customresourcedefinitions')
      await remove('users.realmkeeper.io')
      expect(await world.source().isOwnDeletion?.(resource)).toBe(false)
      await world.source().setFinalizer(alice, resource.metadata.uid, false)
      await restore('users.realmkeeper.io')
      expect(await world.source().isOwnDeletion?.(await deletedAlice(world, deleteAlice))).toBe(true)
    })

    test('row 118: an object that was deleted with a former CRD of its kind has no deletion of its own', async () => {
      const world = await clusterWorld(plane)
      await deletedAlice(world, () => remove('users.realmkeeper.io'))
      // As administrators do with a CRD whose deletion hangs.
      const free = { metadata: { finalizers: null } }
      await plane.admin.do('PATCH', `${CRDS}/users.realmkeeper.io`, free, { contentType: MERGE_PATCH })
      await restore('users.realmkeeper.io')
      const left = await world.eventually(() => {
        const identity = world.source().identity?.('User')
        return identity !== undefined && !identity.includes('deleted') && world.source().get(alice)
      })
      expect(left.metadata.deletionTimestamp).toBeDefined()
      expect(await world.source().isOwnDeletion?.(left)).toBe(false)
      await world.source().setFinalizer(alice, left.metadata.uid, false)
    })

    test('row 118: while the CRD cannot be read, the cause of a deletion is unknown', async () => {
      const world = await proxiedWorld()
      const resource = await deletedAlice(world, deleteAlice)
      world.proxy.setFault(({ url }) => (url.includes('customresourcedefinitions/') ? { status: 503 } : undefined))
      await expect(world.source().isOwnDeletion?.(resource)).rejects.toMatchObject({ status: 503 })
      world.proxy.setFault(({ url }) => (url.includes('customresourcedefinitions/') ? { status: 403 } : undefined))
      await expect(world.source().isOwnDeletion?.(resource)).rejects.toThrow('users.realmkeeper.io may not be read')
      // New and changed objects are received, and a missing object does not count as deleted.
      expect(world.source().completeList('User')).toBeUndefined()
      await world.apply(user('bob'))
      await world.eventually(() => world.source().get(key('User', 'bob')))
      world.proxy.clearFault()
      expect(await world.source().isOwnDeletion?.(resource)).toBe(true)
      await world.eventually(() => world.source().completeList('User'))
    })

    test('row 118: a deletion is taken over after a check of the kind, also when the answer to a write brings it', async () => {
      const world = await proxiedWorld()
      const uid = await received(world)
      await world.source().setFinalizer(alice, uid, true)
      await world.fence()
      world.proxy.setSilence(true)
      await remove('users.realmkeeper.io')
      const isGoing = async () => (await plane.admin.do('GET', pathOf('User', 'default', 'alice'))).metadata
      await expect.poll(isGoing, { timeout: 120_000 }).toHaveProperty('deletionTimestamp')
      await world.source().writeStatus(alice, uid, ready('still here'))
      expect(world.source().get(alice)?.metadata.deletionTimestamp).toBeUndefined()
      world.proxy.setSilence(false)
      world.proxy.cut()
      await world.eventually(() => world.source().get(alice)?.metadata.deletionTimestamp)
      expect(world.source().identity?.('User')).toContain('being deleted')
      await world.source().setFinalizer(alice, uid, false)
      await restore('users.realmkeeper.io')
    })

    test('the start does not wait for a kind that is not installed, and finds it later', async () => {
      await remove('users.realmkeeper.io')
      await vi.waitFor(async () => expect((await plane.admin.call('GET', pathOf('User'))).status).toBe(404), 45_000)
      const world = await clusterWorld(plane)
      await world.apply(realm('acme'))
      await world.eventually(() => world.source().get(key('Realm', 'acme')))
      expect(world.source().completeList('User')).toBeUndefined()
      await restore('users.realmkeeper.io')
      await received(world)
      await world.eventually(() => world.source().completeList('User'))
    })
  })
})
