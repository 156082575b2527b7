import { expect } from 'vitest'
import type { RoleAssignmentStatus } from '../../../crds/role_assignment.gen.ts'
import { ResourceConflict } from '../../../operator/source/resource_source.ts'
import { KINDS, keyOf } from '../../../operator/source/resource.ts'
import type { Kind, Resource, ResourceKey } from '../../../operator/source/resource.ts'
import type { ResourceSource, SecretName, StatusPatch } from '../../../operator/source/resource_source.ts'

/**
 * A store of manifests, a directory or a cluster, and a source on it. A reconciler may rely on what the scenarios below
 * find in both.
 */
export interface World {
  /** The running source; another object after `restart`. */
  source(): ResourceSource
  /** Creates or updates, as an author of manifests does. Refused objects may reject or not. */
  apply(manifest: Manifest): Promise<void>
  /** Deletes the object as its author. */
  remove(manifest: Manifest): Promise<void>
  /** Writes a decision as an approver does. A refused one may reject or not. */
  decide(key: ResourceKey, decision: { approvals?: object[]; conditions?: object[] }): Promise<void>
  /** Stops the source and starts another one on the same world. */
  restart(): Promise<void>
  /** The keys (`Kind/namespace/name`; `Secret/…`) that listeners received since the last call. */
  changedKeys(): string[]
  /** Resolves with the result of `find` as soon as it is neither undefined nor false; rejects when that takes too long. */
  eventually<Found>(find: () => Found | undefined | false): Promise<Found>
  /** Resolves when the source holds everything that was written before. */
  fence(): Promise<void>
}

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> }
  [member: string]: unknown
}

export interface Scenario {
  name: string
  run: (world: World) => Promise<void>
}

export function realm(name: string, spec: object = {}): Manifest {
  return { apiVersion: 'realmkeeper.io/v1beta1', kind: 'Realm', metadata: { name, namespace: 'default' }, spec }
}

export function user(name: string, spec: object = {}, namespace = 'default'): Manifest {
  const full = { realmRef: { name: 'acme' }, username: name, ...spec }
  return { apiVersion: 'realmkeeper.io/v1beta1', kind: 'User', metadata: { name, namespace }, spec: full }
}

export function client(name: string, spec: object = {}): Manifest {
  const full = { realmRef: { name: 'acme' }, clientId: name, ...spec }
  return { apiVersion: 'realmkeeper.io/v1beta1', kind: 'Client', metadata: { name, namespace: 'default' }, spec: full }
}

export function assignment(name: string, roles: string[] = ['reader'], more: object = {}): Manifest {
  const spec = {
    realmRef: { name: 'acme' },
    subject: { kind: 'User', name: 'alice' },
    roles,
    requestedBy: 'rita',
    ...more,
  }
  return {
    apiVersion: 'realmkeeper.io/v1beta1',
    kind: 'RoleAssignment',
    metadata: { name, namespace: 'default' },
    spec,
  }
}

export function secret(name: string, stringData: Record<string, string>): Manifest {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' }, stringData }
}

export function key(kind: Kind, name: string, namespace = 'default'): ResourceKey {
  return { kind, namespace, name }
}

const ready = (status: 'True' | 'False', generation = 1): StatusPatch => ({
  observedGeneration: generation,
  conditions: [{ type: 'Ready', status, reason: status === 'True' ? 'Served' : 'RealmNotFound', message: 'as it is' }],
})

function entry(approver: string, resource: Resource, decision = 'Approved'): object {
  const { uid, generation } = resource.metadata
  return { approver, decision, observedGeneration: generation, observedUID: uid }
}

/** Applies and waits until the source holds it. */
async function applied(world: World, manifest: Manifest): Promise<Resource> {
  const { name, namespace } = manifest.metadata
  await world.apply(manifest)
  const kind = KINDS.find((one) => one === manifest.kind)
  if (!kind) throw new Error(`${manifest.kind} is none of ours`)
  return world.eventually(() => world.source().get(key(kind, name, namespace)))
}

async function atGeneration(world: World, resource: Resource, generation: number): Promise<Resource> {
  return world.eventually(() => {
    const present = world.source().get(keyOf(resource))
    return present?.metadata.generation === generation && present
  })
}

const conflict = { name: 'ResourceConflict' }

/** The scenarios that every source passes. */
export const scenarios: Scenario[] = [
  {
    name: 'a new object appears with uid, generation 1 and a time, and is reported',
    async run(world) {
      world.changedKeys()
      const { metadata } = await applied(world, realm('acme'))
      expect(metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
      expect(metadata.generation).toBe(1)
      expect(metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      expect(world.changedKeys()).toContain('Realm/default/acme')
    },
  },
  {
    name: 'defaults of the schema are filled in',
    async run(world) {
      const { spec } = await applied(world, realm('acme'))
      expect(spec).toMatchObject({ enabled: true, tokens: { accessTokenLifetimeSeconds: 300 } })
    },
  },
  {
    name: 'objects of one name in two namespaces are two',
    async run(world) {
      const one = await applied(world, user('alice', {}, 'default'))
      const other = await applied(world, user('alice', {}, 'other'))
      expect(one.metadata.uid).not.toBe(other.metadata.uid)
      expect(world.source().list('User')).toHaveLength(2)
    },
  },
  {
    name: 'a changed spec raises the generation by one and keeps the uid',
    async run(world) {
      const before = await applied(world, user('alice'))
      await world.apply(user('alice', { email: 'a@example.com' }))
      const after = await atGeneration(world, before, 2)
      expect(after.metadata.uid).toBe(before.metadata.uid)
      expect(after.spec).toMatchObject({ email: 'a@example.com' })
    },
  },
  {
    name: 'a spec changed back is a new generation',
    async run(world) {
      const before = await applied(world, user('alice'))
      await world.apply(user('alice', { email: 'a@example.com' }))
      await atGeneration(world, before, 2)
      await world.apply(user('alice'))
      expect((await atGeneration(world, before, 3)).metadata.uid).toBe(before.metadata.uid)
    },
  },
  {
    name: 'row 111: changes of labels and annotations are reported, without a new generation',
    async run(world) {
      const before = await applied(world, user('alice'))
      world.changedKeys()
      const labelled = user('alice')
      labelled.metadata.labels = { team: 'blue' }
      labelled.metadata.annotations = { 'realmkeeper.io/note': 'hello' }
      await world.apply(labelled)
      const after = await world.eventually(() => {
        const present = world.source().get(key('User', 'alice'))
        return present?.metadata.annotations?.['realmkeeper.io/note'] === 'hello' && present
      })
      expect(after.metadata.generation).toBe(before.metadata.generation)
      expect(after.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion)
      expect(world.changedKeys()).toContain('User/default/alice')
    },
  },
  {
    name: 'applying the same manifest again changes and reports nothing',
    async run(world) {
      const before = await applied(world, user('alice'))
      await world.fence()
      world.changedKeys()
      await world.apply(user('alice'))
      await world.fence()
      expect(world.source().get(key('User', 'alice'))).toEqual(before)
      expect(world.changedKeys()).not.toContain('User/default/alice')
    },
  },
  {
    name: 'a default written out is no new generation',
    async run(world) {
      await applied(world, user('alice'))
      await world.apply(user('alice', { enabled: true }))
      await world.fence()
      expect(world.source().get(key('User', 'alice'))?.metadata.generation).toBe(1)
    },
  },
  {
    name: 'row 90: an object that does not fit the schema is not taken over, and is once it fits',
    async run(world) {
      await world.apply(user('alice', { emial: 'a@example.com' })).catch(() => undefined)
      await world.fence()
      expect(world.source().get(key('User', 'alice'))).toBeUndefined()
      expect((await applied(world, user('alice'))).metadata.generation).toBe(1)
    },
  },
  {
    name: 'row 90: an edit that does not fit the schema keeps the last good state',
    async run(world) {
      const before = await applied(world, user('alice'))
      await world.apply(user('alice', { enabled: 'perhaps' })).catch(() => undefined)
      await world.fence()
      expect(world.source().get(key('User', 'alice'))).toEqual(before)
    },
  },
  {
    name: 'row 92: an immutable field cannot be changed',
    async run(world) {
      const before = await applied(world, user('alice'))
      await world.apply(user('alice', { username: 'mallory' })).catch(() => undefined)
      await world.apply(user('alice', { realmRef: { name: 'other' } })).catch(() => undefined)
      await world.fence()
      expect(world.source().get(key('User', 'alice'))).toEqual(before)
    },
  },
  {
    name: 'a removed object disappears and is reported',
    async run(world) {
      await applied(world, user('alice'))
      world.changedKeys()
      await world.remove(user('alice'))
      await world.eventually(() => world.source().get(key('User', 'alice')) === undefined)
      expect(world.source().list('User')).toEqual([])
      expect(world.changedKeys()).toContain('User/default/alice')
    },
  },
  {
    name: 'an object put back has another uid and begins at generation 1',
    async run(world) {
      const before = await applied(world, user('alice'))
      await world.apply(user('alice', { firstName: 'Alice' }))
      await atGeneration(world, before, 2)
      await world.remove(user('alice'))
      await world.eventually(() => world.source().get(key('User', 'alice')) === undefined)
      const after = await applied(world, user('alice'))
      expect(after.metadata.uid).not.toBe(before.metadata.uid)
      expect(after.metadata.generation).toBe(1)
    },
  },
  {
    name: 'a finalizer holds a removed object until it is taken off',
    async run(world) {
      const { metadata } = await applied(world, user('alice'))
      await world.source().setFinalizer(key('User', 'alice'), metadata.uid, true)
      await world.eventually(() => world.source().get(key('User', 'alice'))?.metadata.finalizers?.length === 1)
      await world.remove(user('alice'))
      const deleting = await world.eventually(() => {
        const present = world.source().get(key('User', 'alice'))
        return present?.metadata.deletionTimestamp !== undefined && present
      })
      expect(deleting.metadata.uid).toBe(metadata.uid)
      expect(deleting.spec).toMatchObject({ username: 'alice' })
      await world.source().setFinalizer(key('User', 'alice'), metadata.uid, false)
      await world.eventually(() => world.source().get(key('User', 'alice')) === undefined)
    },
  },
  {
    name: 'a finalizer set twice is there once, changes no generation and holds after a restart',
    async run(world) {
      const { metadata } = await applied(world, user('alice'))
      await world.source().setFinalizer(key('User', 'alice'), metadata.uid, true)
      await world.source().setFinalizer(key('User', 'alice'), metadata.uid, true)
      await world.restart()
      const after = world.source().get(key('User', 'alice'))?.metadata
      expect(after?.finalizers).toEqual(['realmkeeper.io/cleanup'])
      expect(after?.generation).toBe(1)
    },
  },
  {
    name: 'a finalizer of an object that is being deleted cannot be set, one of a gone object can be taken off',
    async run(world) {
      const { metadata } = await applied(world, user('alice'))
      const alice = key('User', 'alice')
      await expect(world.source().setFinalizer(alice, 'another-uid', true)).rejects.toMatchObject(conflict)
      await world.remove(user('alice'))
      await world.eventually(() => world.source().get(alice) === undefined)
      await world.source().setFinalizer(alice, metadata.uid, false)
      await expect(world.source().setFinalizer(alice, metadata.uid, true)).rejects.toBeInstanceOf(ResourceConflict)
    },
  },
  {
    name: 'row 99: a status given at creation is dropped',
    async run(world) {
      const forged = {
        ...assignment('readers'),
        status: { conditions: [{ type: 'Approved', status: 'True', reason: 'Mine' }] },
      }
      expect((await applied(world, forged)).status?.conditions ?? []).toEqual([])
    },
  },
  {
    name: 'a status of the operator is held and reported, without a new generation',
    async run(world) {
      const { metadata } = await applied(world, user('alice'))
      await world.fence()
      world.changedKeys()
      await world.source().writeStatus(key('User', 'alice'), metadata.uid, ready('True'))
      const after = await world.eventually(() => {
        const present = world.source().get(key('User', 'alice'))
        return present?.status !== undefined && present
      })
      expect(after.status).toMatchObject({
        observedGeneration: 1,
        conditions: [{ type: 'Ready', status: 'True', observedGeneration: 1 }],
      })
      expect(after.metadata.generation).toBe(1)
      expect(world.changedKeys()).toContain('User/default/alice')
    },
  },
  {
    name: 'a status that changes nothing is not written',
    async run(world) {
      const { metadata } = await applied(world, user('alice'))
      await world.source().writeStatus(key('User', 'alice'), metadata.uid, ready('True'))
      await world.eventually(() => world.source().get(key('User', 'alice'))?.status)
      await world.fence()
      const before = world.source().get(key('User', 'alice'))
      world.changedKeys()
      await world.source().writeStatus(key('User', 'alice'), metadata.uid, ready('True'))
      await world.fence()
      expect(world.source().get(key('User', 'alice'))).toEqual(before)
      expect(world.changedKeys()).not.toContain('User/default/alice')
    },
  },
  {
    name: 'a transition time stays while the status of the condition stays',
    async run(world) {
      const { metadata } = await applied(world, user('alice'))
      await world.source().writeStatus(key('User', 'alice'), metadata.uid, ready('True'))
      const condition = () => world.source().get(key('User', 'alice'))?.status?.conditions?.[0]
      const first = (await world.eventually(condition)).lastTransitionTime
      await world.source().writeStatus(key('User', 'alice'), metadata.uid, {
        observedGeneration: 1,
        conditions: [{ type: 'Ready', status: 'True', reason: 'Served', message: 'in other words' }],
      })
      await world.eventually(() => condition()?.message === 'in other words')
      expect(condition()?.lastTransitionTime).toBe(first)
    },
  },
  {
    name: 'members of status are replaced and removed, other conditions stay',
    async run(world) {
      const { metadata } = await applied(world, user('alice'))
      const alice = key('User', 'alice')
      await world.source().writeStatus(alice, metadata.uid, { ...ready('True'), fields: { subject: 'first-sub' } })
      await world.eventually(() =>
        Object.entries(world.source().get(alice)?.status ?? {}).some(([name]) => name === 'subject'),
      )
      await world.source().writeStatus(alice, metadata.uid, {
        observedGeneration: 1,
        conditions: [{ type: 'PasswordReady', status: 'True', reason: 'Hashed', message: '' }],
        fields: { subject: undefined },
      })
      const status = await world.eventually(() => {
        const present = world.source().get(alice)?.status
        return present?.conditions?.length === 2 && present
      })
      expect(status.conditions?.map(({ type }) => type).toSorted()).toEqual(['PasswordReady', 'Ready'])
      expect(status).not.toHaveProperty('subject')
    },
  },
  {
    name: 'a status for another uid, or for an object that is gone, is a conflict',
    async run(world) {
      const { metadata } = await applied(world, user('alice'))
      const alice = key('User', 'alice')
      await expect(world.source().writeStatus(alice, 'another-uid', ready('True'))).rejects.toMatchObject(conflict)
      await world.remove(user('alice'))
      await world.eventually(() => world.source().get(alice) === undefined)
      await expect(world.source().writeStatus(alice, metadata.uid, ready('True'))).rejects.toMatchObject(conflict)
    },
  },
  {
    name: 'a restart keeps uid, generation and status, and tells every object again',
    async run(world) {
      const first = await applied(world, user('alice'))
      await world.source().writeStatus(key('User', 'alice'), first.metadata.uid, ready('True'))
      await world.apply(user('alice', { lastName: 'Liddell' }))
      await atGeneration(world, first, 2)
      await world.fence()
      const before = world.source().get(key('User', 'alice'))
      world.changedKeys()
      await world.restart()
      expect(world.source().get(key('User', 'alice'))).toEqual(before)
      expect(world.changedKeys()).toContain('User/default/alice')
    },
  },
  {
    name: 'the list of a kind is complete, and its identity outlives a restart',
    async run(world) {
      await applied(world, user('alice'))
      const before = world.source().completeList('User')
      expect(before?.identity).toBeTruthy()
      await world.restart()
      expect(world.source().completeList('User')).toEqual(before)
    },
  },
  {
    name: 'decisions of two approvers are both held',
    async run(world) {
      const resource = await applied(world, assignment('readers'))
      await world.decide(keyOf(resource), { approvals: [entry('ann', resource)] })
      await world.eventually(() => approvers(world, resource).length === 1)
      await world.decide(keyOf(resource), { approvals: [entry('ann', resource), entry('bob', resource, 'Denied')] })
      await world.eventually(() => approvers(world, resource).length === 2)
      expect(approvers(world, resource)).toEqual(['ann Approved', 'bob Denied'])
    },
  },
  {
    name: 'row 109: a decision for another generation or another uid does not count',
    async run(world) {
      const resource = await applied(world, assignment('readers'))
      const { uid } = resource.metadata
      const guessed = { approver: 'ann', decision: 'Approved', observedGeneration: 2, observedUID: uid }
      const foreign = { approver: 'bob', decision: 'Approved', observedGeneration: 1, observedUID: 'another-uid' }
      await world.decide(keyOf(resource), { approvals: [guessed] }).catch(() => undefined)
      await world.decide(keyOf(resource), { approvals: [foreign] }).catch(() => undefined)
      await world.fence()
      await world.apply(assignment('readers', ['reader', 'writer']))
      await atGeneration(world, resource, 2)
      expect(approvers(world, resource)).toEqual([])
    },
  },
  {
    name: 'row 106: a decision that covers the present generation stays when it is taken out or turned back',
    async run(world) {
      const resource = await applied(world, assignment('readers'))
      await world.decide(keyOf(resource), { approvals: [entry('ann', resource, 'Denied')] })
      await world.eventually(() => approvers(world, resource).length === 1)
      await world.decide(keyOf(resource), { approvals: [entry('ann', resource, 'Approved')] }).catch(() => undefined)
      await world.decide(keyOf(resource), { approvals: [] }).catch(() => undefined)
      await world.fence()
      expect(approvers(world, resource)).toEqual(['ann Denied'])
    },
  },
  {
    name: 'an approver may turn Approved into Denied',
    async run(world) {
      const resource = await applied(world, assignment('readers'))
      await world.decide(keyOf(resource), { approvals: [entry('ann', resource, 'Approved')] })
      await world.eventually(() => approvers(world, resource)[0] === 'ann Approved')
      await world.decide(keyOf(resource), { approvals: [entry('ann', resource, 'Denied')] })
      await world.eventually(() => approvers(world, resource)[0] === 'ann Denied')
      expect(approvers(world, resource)).toEqual(['ann Denied'])
    },
  },
  {
    name: 'a condition Approved is read as a decision, and the status of the operator leaves it there',
    async run(world) {
      const resource = await applied(world, assignment('readers'))
      const { uid, generation } = resource.metadata
      const observed = { observedGeneration: generation, observedUID: uid, decidedBy: 'ann' }
      const condition = { type: 'Approved', status: 'True', reason: 'Reviewed', ...observed }
      await world.decide(keyOf(resource), { conditions: [condition] })
      const find = () => world.source().get(keyOf(resource))?.status?.conditions
      await world.eventually(() => find()?.some(({ type }) => type === 'Approved'))
      await world.source().writeStatus(keyOf(resource), uid, ready('True'))
      await world.eventually(() => find()?.length === 2)
      expect(find()?.find(({ type }) => type === 'Approved')).toMatchObject({ decidedBy: 'ann', status: 'True' })
    },
  },
  {
    name: 'entries that the operator dropped stay dropped',
    async run(world) {
      const resource = await applied(world, assignment('readers'))
      await world.decide(keyOf(resource), { approvals: [entry('ann', resource)] })
      await world.eventually(() => approvers(world, resource).length === 1)
      await world.apply(assignment('readers', ['reader', 'writer']))
      await atGeneration(world, resource, 2)
      await world
        .source()
        .writeStatus(keyOf(resource), resource.metadata.uid, { ...ready('False', 2), removeApprovals: ['ann'] })
      await world.eventually(() => approvers(world, resource).length === 0)
      await world.restart()
      await world.fence()
      expect(approvers(world, resource)).toEqual([])
    },
  },
  {
    name: 'a Secret is read by its bytes, and its version changes with them',
    async run(world) {
      const name: SecretName = { namespace: 'default', name: 'alice-password' }
      expect(world.source().secrets.version(name)).toBeUndefined()
      world.changedKeys()
      await world.apply(secret('alice-password', { password: 'first one' }))
      const first = await world.eventually(() => world.source().secrets.version(name))
      expect((await world.source().secrets.read(name))?.data['password']).toEqual(Buffer.from('first one'))
      expect(world.changedKeys()).toContain('Secret/default/alice-password')
      await world.apply(secret('alice-password', { password: 'second one' }))
      const second = await world.eventually(() => {
        const version = world.source().secrets.version(name)
        return version?.resourceVersion !== first.resourceVersion && version
      })
      expect(second.uid).toBe(first.uid)
      const read = await world.source().secrets.read(name)
      expect(read?.data['password']).toEqual(Buffer.from('second one'))
      expect(read?.version).toEqual(second)
      expect(read?.foreignManagers).not.toEqual([])
    },
  },
  {
    name: 'a Secret that is removed and put back is another one',
    async run(world) {
      const name: SecretName = { namespace: 'default', name: 'alice-password' }
      await world.apply(secret('alice-password', { password: 'one' }))
      const first = await world.eventually(() => world.source().secrets.version(name))
      await world.remove(secret('alice-password', {}))
      await world.eventually(() => world.source().secrets.version(name) === undefined)
      expect(await world.source().secrets.read(name)).toBeUndefined()
      await world.apply(secret('alice-password', { password: 'one' }))
      const second = await world.eventually(() => world.source().secrets.version(name))
      expect(second.uid).not.toBe(first.uid)
    },
  },
  {
    name: 'a Secret keeps its version over a restart',
    async run(world) {
      const name: SecretName = { namespace: 'default', name: 'alice-password' }
      await world.apply(secret('alice-password', { password: 'one' }))
      const before = await world.eventually(() => world.source().secrets.version(name))
      await world.restart()
      expect(world.source().secrets.version(name)).toEqual(before)
    },
  },
  {
    name: 'a Secret of the operator is created once, updated by version, deleted at will',
    async run(world) {
      const { secrets } = world.source()
      const desired = { namespace: 'default', name: 'realm-acme-keyring', labels: { 'realmkeeper.io/keyring': 'true' } }
      const data = { 'keyring.json': Buffer.from('{"keys":1}') }
      const first = await secrets.create({ ...desired, data })
      await expect(secrets.create({ ...desired, data })).rejects.toBeInstanceOf(ResourceConflict)
      const second = await secrets.update({ ...desired, data: { 'keyring.json': Buffer.from('{"keys":2}') } }, first)
      expect(second).not.toEqual(first)
      await expect(secrets.update({ ...desired, data }, first)).rejects.toMatchObject(conflict)
      const read = await secrets.read(desired)
      expect(read?.data['keyring.json']?.toString()).toBe('{"keys":2}')
      expect(read).toMatchObject({ labels: desired.labels, foreignManagers: [], version: second })
      await world.eventually(() => secrets.version(desired)?.resourceVersion === second.resourceVersion)
      await secrets.delete(desired)
      await secrets.delete(desired)
      await world.eventually(() => secrets.version(desired) === undefined)
    },
  },
  {
    name: 'a Secret goes with the object that controls it',
    async run(world) {
      const owner = await applied(world, client('shop'))
      const { secrets } = world.source()
      const desired = { namespace: 'default', name: 'shop-client', labels: {}, controller: owner }
      await secrets.create({ ...desired, data: { client_secret: Buffer.from('not for logs') } })
      expect((await secrets.read(desired))?.controllerUid).toBe(owner.metadata.uid)
      await world.remove(client('shop'))
      await world.eventually(() => secrets.version(desired) === undefined)
      expect(await secrets.read(desired)).toBeUndefined()
    },
  },
  {
    name: 'a namespace exists when it has objects, with its labels',
    async run(world) {
      await applied(world, realm('acme'))
      const labels = { team: 'blue' }
      world.changedKeys()
      await world.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels } })
      await applied(world, user('alice', {}, 'shop'))
      expect(world.source().namespaceLabels('shop')).toMatchObject({
        team: 'blue',
        'kubernetes.io/metadata.name': 'shop',
      })
      expect(world.source().namespaceLabels('nowhere')).toBeUndefined()
      // Realms select namespaces by their labels.
      expect(world.changedKeys()).toContain('Realm/default/acme')
    },
  },
]

function approvers(world: World, resource: Resource): string[] {
  const status: RoleAssignmentStatus = world.source().get(keyOf(resource))?.status ?? {}
  return (status.approvals ?? []).map(({ approver, decision }) => `${approver} ${decision}`).toSorted()
}
