import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { client, key, secret } from '../conformance.ts'
import { directoryWorld } from './world.ts'
import type { DirectoryWorld } from './world.ts'

const name = { namespace: 'default', name: 'shop-client' }
const desired = { ...name, labels: { app: 'shop' }, data: { client_secret: Buffer.from('made by the operator') } }
const file = (world: DirectoryWorld) => join(world.stateDir, 'secrets/default/shop-client.json')

test('a Secret of the operator is a Kubernetes manifest under secrets/<namespace>/<name>.json', async () => {
  const world = await directoryWorld()
  await world.apply(client('shop'))
  const owner = await world.eventually(() => world.source().get(key('Client', 'shop')))
  const version = await world.source().secrets.create({ ...desired, annotations: { note: 'x' }, controller: owner })
  expect(JSON.parse(readFileSync(file(world), 'utf8'))).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      ...name,
      labels: { app: 'shop' },
      annotations: { note: 'x' },
      ...version,
      creationTimestamp: expect.stringMatching(/Z$/),
      ownerReferences: [
        {
          apiVersion: 'realmkeeper.io/v1beta1',
          kind: 'Client',
          name: 'shop',
          uid: owner.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    data: { client_secret: Buffer.from('made by the operator').toString('base64') },
  })
  expect(world.source().secrets.version(name)).toEqual(version)
  expect(readdirSync(join(world.stateDir, 'secrets/default'))).toEqual(['shop-client.json'])
})

test('row 95: a deletion or edit by hand notifies the listeners', async () => {
  const world = await directoryWorld()
  const first = await world.source().secrets.create(desired)
  world.changedKeys()
  const edited = readFileSync(file(world), 'utf8').replace('"client_secret": "', '"client_secret": "YWJj')
  writeFileSync(file(world), edited)
  const second = await world.eventually(() => {
    const version = world.source().secrets.version(name)
    return version?.resourceVersion !== first.resourceVersion && version
  })
  expect(second.uid).toBe(first.uid)
  expect(world.changedKeys()).toContain('Secret/default/shop-client')
  await expect(world.source().secrets.update(desired, first)).rejects.toMatchObject({ name: 'ResourceConflict' })

  rmSync(file(world))
  await world.eventually(() => world.source().secrets.version(name) === undefined)
  expect(world.changedKeys()).toContain('Secret/default/shop-client')
  const third = await world.source().secrets.create(desired)
  expect(third.uid).not.toBe(first.uid)
})

test('a Secret that cannot be read keeps its version, is reported, and is not created again', async () => {
  const world = await directoryWorld()
  const version = await world.source().secrets.create(desired)
  writeFileSync(file(world), '{"apiVersion":"v1","kind":"Secret","data":{"client_secret":"canary-2b')
  await world.eventually(() => world.reported.length === 1)
  expect(world.reported[0]).toContain(
    'shop-client.json: not a Secret with a metadata.uid in JSON; restore it, or remove it',
  )
  expect(world.reported[0]).not.toContain('canary')
  expect(world.source().secrets.version(name)).toEqual(version)
  expect(await world.source().secrets.read(name)).toBeUndefined()
  await expect(world.source().secrets.create(desired)).rejects.toMatchObject({ name: 'ResourceConflict' })
  await expect(world.source().secrets.update(desired, version)).rejects.toMatchObject({ name: 'ResourceConflict' })
})

test('a Secret of the directory takes precedence over one of the state, and is never written', async () => {
  const world = await directoryWorld()
  const own = await world.source().secrets.create(desired)
  await world.apply(secret('shop-client', { client_secret: 'brought by the user' }))
  const brought = await world.eventually(() => {
    const version = world.source().secrets.version(name)
    return version?.uid !== own.uid && version
  })
  expect(await world.source().secrets.read(name)).toMatchObject({ foreignManagers: ['file'], version: brought })
  await expect(world.source().secrets.update(desired, brought)).rejects.toThrow(
    'lies in the directory; it is changed there',
  )
  await expect(world.source().secrets.create(desired)).rejects.toThrow('lies in the directory')
  await world.remove(secret('shop-client', {}))
  await world.eventually(() => world.source().secrets.version(name)?.uid === own.uid)
  expect((await world.source().secrets.read(name))?.data['client_secret']?.toString()).toBe('made by the operator')
})

test('a file of the directory cannot claim to be controlled by a resource', async () => {
  const world = await directoryWorld()
  await world.apply(client('shop'))
  const { uid } = (await world.eventually(() => world.source().get(key('Client', 'shop')))).metadata
  const forged = secret('shop-client', { a: 'b' })
  Object.assign(forged.metadata, { ownerReferences: [{ uid, controller: true }] })
  await world.apply(forged)
  await world.eventually(() => world.source().secrets.version(name))
  expect((await world.source().secrets.read(name))?.controllerUid).toBeUndefined()
})

test('a Secret whose owner was deleted while no source ran is removed at the start; one without owner stays', async () => {
  const world = await directoryWorld()
  await world.apply(client('shop'))
  const controller = await world.eventually(() => world.source().get(key('Client', 'shop')))
  await world.source().secrets.create({ ...desired, controller })
  await world.source().secrets.create({ ...desired, name: 'keyring' })
  await world.stop()
  // Its owner has a uid that the state does not know.
  writeFileSync(file(world), readFileSync(file(world), 'utf8').replaceAll(controller.metadata.uid, 'other-uid'))
  await world.start()
  await world.eventually(() => !existsSync(file(world)))
  expect(world.source().secrets.version(name)).toBeUndefined()
  expect(world.source().secrets.version({ ...name, name: 'keyring' })).toBeDefined()
})

test('an invalid name creates no file', async () => {
  const world = await directoryWorld()
  for (const wrong of ['../escape', 'a/b', '', '.', 'A', 'x'.repeat(221)]) {
    await expect(world.source().secrets.create({ ...desired, name: wrong })).rejects.toThrow(
      /name of a Secret|longer than/,
    )
    await expect(world.source().secrets.create({ ...desired, namespace: wrong.slice(0, 70) })).rejects.toThrow(
      'name of a Secret',
    )
  }
  expect(existsSync(join(world.stateDir, 'secrets'))).toBe(false)
})

test('data and stringData are read as Kubernetes reads them; temporary files of a crash are ignored', async () => {
  const world = await directoryWorld()
  const both = secret('both', { text: 'ü', twice: 'second' })
  both['data'] = { twice: Buffer.from('first').toString('base64'), bytes: 'AP8Q\n', empty: '' }
  await world.apply(both)
  mkdirSync(join(world.stateDir, 'secrets/default'), { recursive: true })
  writeFileSync(join(world.stateDir, 'secrets/default/.left.json.realmkeeper.tmp'), '{')
  await world.eventually(() => world.source().secrets.version({ namespace: 'default', name: 'both' }))
  const read = await world.source().secrets.read({ namespace: 'default', name: 'both' })
  expect(read?.data).toEqual({
    text: Buffer.from('ü'),
    twice: Buffer.from('second'),
    bytes: Buffer.from([0, 255, 16]),
    empty: Buffer.alloc(0),
  })
  expect(world.reported).toEqual([])
})
