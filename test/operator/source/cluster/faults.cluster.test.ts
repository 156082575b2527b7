import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { configAccess, kubeconfigAccess } from '../../../../kubernetes/kubeconfig_access.ts'
import { startControlPlane } from '../../../support/control_plane.ts'
import type { ControlPlane } from '../../../support/control_plane.ts'
import { accountOf } from '../../../support/control_plane/account.ts'
import type { Account } from '../../../support/control_plane/account.ts'
import { certificateAuthority } from '../../../support/control_plane/certificates.ts'
import { startFaultProxy } from '../../../support/fault_proxy.ts'
import type { FaultProxy } from '../../../support/fault_proxy.ts'
import { key, realm, secret, user } from '../conformance.ts'
import { clusterWorld, prepareWorlds } from './world.ts'
import type { ClusterWorld } from './world.ts'

const USERS = '/apis/realmkeeper.io/v1beta1/users'
const alice = key('User', 'alice')

describe('row 121: an API server that fails', () => {
  let plane: ControlPlane
  let proxy: FaultProxy
  let folder: string
  let proxied: Account

  beforeAll(async () => {
    plane = await startControlPlane()
    await prepareWorlds(plane)
    folder = mkdtempSync(join(tmpdir(), 'realmkeeper-faults-'))
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await plane?.stop()
  })
  beforeEach(async () => {
    proxy = await startFaultProxy(plane, { as: plane.user('operator') })
    proxied = accountOf('proxied', { server: proxy.url, ca: plane.authority.certificate }, folder)
    onTestFinished(() => proxy.stop())
  })

  const world = (options: Parameters<typeof clusterWorld>[1] = {}): Promise<ClusterWorld> =>
    clusterWorld(plane, { as: proxied, ...options })

  const emailOf = (one: ClusterWorld): unknown => {
    const spec = one.source().get(alice)?.spec
    return typeof spec === 'object' && spec !== null && Reflect.get(spec, 'email')
  }
  const requestsFor = (part: string): number => proxy.requests.filter(({ url }) => url.includes(part)).length
  const listsOf = (one: ClusterWorld, what: string): number | undefined =>
    one
      .source()
      .watches()
      .find((watch) => watch.what.startsWith(what))?.lists
  const failures = (one: ClusterWorld): number =>
    one
      .source()
      .watches()
      .reduce((sum, watch) => sum + watch.failures, 0)

  test('killed and restarted: no change made before the next watch is missed', async () => {
    const one = await world()
    await one.apply(user('alice'))
    await one.apply(user('bob'))
    await one.fence()
    await plane.kill()
    await plane.start()
    await one.apply(user('alice', { email: 'after@example.com' }))
    await one.remove(user('bob'))
    await one.apply(user('carol'))
    await one.fence()
    expect(emailOf(one)).toBe('after@example.com')
    expect(one.source().get(key('User', 'bob'))).toBeUndefined()
    await one.eventually(() => one.source().problem() === undefined)
    expect(one.source().completeList('User')).toBeDefined()
  })

  test('all connections cut again and again: changes arrive, and calls succeed', async () => {
    const one = await world()
    await one.apply(user('alice'))
    await one.fence()
    for (let round = 1; round <= 8; round++) {
      proxy.cut()
      await one.apply(user('alice', { email: `round-${round}@example.com` }))
      await one.eventually(() => emailOf(one) === `round-${round}@example.com`)
      // Its idle connection may have been cut.
      expect(await one.source().secrets.read({ namespace: 'default', name: 'nothing' })).toBeUndefined()
    }
    // Eight cuts of ten watches: each watch is opened again, and only those of one name are listed again.
    expect(proxy.requests.filter(({ isWatch }) => isWatch).length).toBeLessThan(200)
    const ofMany = one
      .source()
      .watches()
      .filter(({ what }) => !what.startsWith('CustomResourceDefinition '))
    expect(ofMany.map(({ lists }) => lists)).toEqual(Array(6).fill(1))
  })

  test('410 in the stream: a new list reports the missed changes', async () => {
    const one = await world()
    await one.apply(user('alice'))
    await one.apply(user('bob'))
    await one.fence()
    proxy.setSilence(true)
    await one.apply(user('alice', { email: 'unseen@example.com' }))
    await one.remove(user('bob'))
    one.changedKeys()
    proxy.setSilence(false)
    const expired = { kind: 'Status', status: 'Failure', reason: 'Expired', message: 'too old', code: 410 }
    expect(proxy.inject(USERS, { type: 'ERROR', object: expired })).toBe(1)
    await one.eventually(() => emailOf(one) === 'unseen@example.com')
    expect(one.source().list('User')).toHaveLength(1)
    expect(one.changedKeys().toSorted()).toEqual(['User/default/alice', 'User/default/bob'])
  })

  test('another error in the stream also leads to a new list', async () => {
    const one = await world()
    await one.apply(user('alice'))
    await one.fence()
    proxy.setSilence(true)
    await one.apply(user('alice', { email: 'unseen@example.com' }))
    proxy.setSilence(false)
    const broken = { kind: 'Status', status: 'Failure', reason: 'InternalError', message: 'etcd', code: 500 }
    proxy.inject(USERS, { type: 'ERROR', object: broken })
    await one.eventually(() => emailOf(one) === 'unseen@example.com')
    expect(listsOf(one, 'users.')).toBe(2)
  })

  test('history that is really lost: compacted, and the API server restarted', async () => {
    const one = await world()
    await one.apply(user('alice'))
    await one.fence()
    await plane.kill()
    await plane.start()
    for (let round = 0; round < 3; round++) await one.apply(secret(`filler-${round}`, { a: 'b' }))
    await plane.compact()
    await plane.restart()
    await one.apply(user('alice', { email: 'after@example.com' }))
    await one.eventually(() => emailOf(one) === 'after@example.com')
  })

  test('an object that was deleted and created again during an outage has another uid, and is reported', async () => {
    const one = await world()
    await one.apply(user('alice'))
    await one.fence()
    const before = one.source().get(alice)?.metadata.uid
    proxy.setFault(() => ({ status: 503 }))
    proxy.cut()
    await one.remove(user('alice'))
    await one.apply(user('alice'))
    one.changedKeys()
    proxy.clearFault()
    await one.eventually(() => one.source().get(alice)?.metadata.uid !== before && one.source().get(alice))
    expect(one.changedKeys()).toContain('User/default/alice')
  })

  test.for([429, 500, 503] as const)('a storm of %d: no hot loop, and nothing is missed', async (status) => {
    const one = await world()
    await one.apply(user('alice'))
    await one.fence()
    proxy.setFault(() => ({ status }))
    proxy.cut()
    const before = proxy.requests.length
    const since = performance.now()
    await one.apply(user('alice', { email: 'meanwhile@example.com' }))
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    // Ten watches, backing off from 50 ms to 1 s: some tries each, and at the cap about two a second.
    const seconds = (performance.now() - since) / 1_000
    expect(proxy.requests.length - before).toBeLessThan(10 * (8 + 2 * seconds))
    proxy.clearFault()
    await one.eventually(() => emailOf(one) === 'meanwhile@example.com')
    await one.eventually(() => one.source().problem() === undefined)
  })

  test('Retry-After is waited for', async () => {
    const one = await world()
    proxy.setFault(() => ({ status: 429, retryAfter: 2 }))
    proxy.cut()
    await one.eventually(() => failures(one) >= 20)
    const before = proxy.requests.length
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    // The ten watches wait for two seconds. Backoff alone would be shorter.
    expect(proxy.requests.length - before).toBeLessThanOrEqual(10)
  })

  test('watches that end at once are opened at a bounded rate', async () => {
    const one = await world()
    proxy.setFault(({ isWatch }) => (isWatch ? { status: 200, body: [] } : undefined))
    proxy.cut()
    const before = proxy.requests.length
    const since = performance.now()
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const seconds = (performance.now() - since) / 1_000
    expect(proxy.requests.length - before).toBeLessThan(10 * (12 + 4 * seconds))
    proxy.clearFault()
    await one.apply(user('alice'))
    await one.eventually(() => one.source().get(alice))
  })

  test('a silent watch is opened again, and after a second silence a list finds the changes', async () => {
    const one = await world({ timings: { stallMillis: 300 } })
    proxy.setSilence(true)
    await one.apply(user('alice'))
    await one.eventually(() => one.source().get(alice))
    expect(listsOf(one, 'users.')).toBeGreaterThan(1)
  })

  test('a watch without any answer is stale: the process is not ready, and the list does not count as complete', async () => {
    const one = await world({ timings: { stallMillis: 200 }, staleMillis: 1_500, timeoutMillis: 300 })
    await one.eventually(() => one.source().problem() === undefined)
    expect(one.source().completeList('User')).toBeDefined()
    proxy.setFault(() => 'hang')
    proxy.cut()
    await one.eventually(() => one.source().problem())
    await one.eventually(() => one.source().completeList('User') === undefined)
    proxy.clearFault()
    await one.eventually(() => one.source().problem() === undefined)
    expect(one.source().completeList('User')).toBeDefined()
  })

  test('the start waits for an API server that does not answer', async () => {
    proxy.setFault(() => ({ status: 503 }))
    const one = await world({ started: false })
    let started = false
    const starting = one.start()
    void starting.finally(() => {
      started = true
    })
    await one.eventually(() => failures(one) >= 30)
    expect(started).toBe(false)
    proxy.clearFault()
    await starting
    expect(one.source().completeList('User')).toBeDefined()
  })

  test('the source stops while the API server does not answer', async () => {
    proxy.setFault(() => 'hang')
    const one = await world({ started: false })
    const starting = one.start()
    await one.eventually(() => requestsFor(USERS) > 0)
    await one.stop()
    await starting
    // Requests that were sent before the stop arrive.
    await new Promise((resolve) => setTimeout(resolve, 200))
    const before = proxy.requests.length
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(proxy.requests.length).toBe(before)
  })

  test('connections are kept: a hundred calls open fewer than five', async () => {
    const one = await world()
    const before = proxy.connections()
    for (let call = 0; call < 100; call++) await one.source().secrets.read({ namespace: 'default', name: 'nothing' })
    expect(proxy.connections() - before).toBeLessThan(5)
  })

  test('a call succeeds although its kept connection was closed', async () => {
    const one = await world()
    const name = { namespace: 'default', name: 'nothing' }
    for (let round = 0; round < 5; round++) {
      expect(await one.source().secrets.read(name)).toBeUndefined()
      let dropped = false
      proxy.setFault(({ url }) => {
        if (dropped || !url.endsWith('/nothing')) return undefined
        dropped = true
        return 'drop'
      })
      expect(await one.source().secrets.read(name)).toBeUndefined()
      expect(dropped).toBe(true)
    }
  })

  test.for(['a pod', 'a kubeconfig'])(
    'a token of %s that was swapped in its file is used, without a restart',
    async (whose) => {
      const tokenFile = join(folder, 'token')
      // Editors and echo end a file with a newline.
      writeFileSync(tokenFile, 'first-token\n')
      proxy.setFault(({ authorization }) => (authorization === 'Bearer second-token' ? undefined : { status: 401 }))
      const caData = Buffer.from(plane.authority.certificate).toString('base64')
      const inPod = (): KubeConfig => {
        const config = new KubeConfig()
        config.loadFromOptions({
          clusters: [{ name: 'here', server: proxy.url, caData, skipTLSVerify: false }],
          users: [{ name: 'pod', authProvider: { name: 'tokenFile', config: { tokenFile } } }],
          contexts: [{ name: 'here', cluster: 'here', user: 'pod' }],
          currentContext: 'here',
        })
        return config
      }
      const file = join(folder, 'with-token-file.kubeconfig')
      const config = {
        clusters: [{ name: 'here', cluster: { server: proxy.url, 'certificate-authority-data': caData } }],
        users: [{ name: 'me', user: { tokenFile: 'token' } }],
        contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
        'current-context': 'here',
      }
      writeFileSync(file, JSON.stringify(config))
      const access = whose === 'a pod' ? configAccess(inPod) : kubeconfigAccess({ file })
      const one = await world({ started: false, access })
      const starting = one.start()
      await one.eventually(() => proxy.requests.some(({ authorization }) => authorization === 'Bearer first-token'))
      writeFileSync(tokenFile, 'second-token\n')
      await one.eventually(() => proxy.requests.some(({ authorization }) => authorization === 'Bearer second-token'))
      expect(proxy.requests.every(({ authorization }) => authorization?.endsWith('-token'))).toBe(true)
      await one.stop()
      await starting
    },
  )

  test('an authority that was replaced in its file is trusted, without a restart', async () => {
    const caFile = join(folder, 'ca.crt')
    writeFileSync(caFile, plane.authority.certificate)
    const file = join(folder, 'with-files.kubeconfig')
    const config = {
      clusters: [{ name: 'here', cluster: { server: proxy.url, 'certificate-authority': caFile } }],
      users: [{ name: 'me', user: {} }],
      contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
      'current-context': 'here',
    }
    writeFileSync(file, JSON.stringify(config))
    const one = await world({ as: { ...proxied, kubeconfig: file } })
    const other = certificateAuthority('another')
    proxy.showCertificate(other.issueServer(['127.0.0.1']))
    proxy.cut()
    await one.apply(user('alice'))
    await one.eventually(() => failures(one) > 20)
    expect(one.source().get(alice)).toBeUndefined()
    writeFileSync(caFile, other.certificate)
    await one.eventually(() => one.source().get(alice))
  })

  test('a listener that throws does not stop the watches', async () => {
    const one = await world()
    one.source().onResource(() => {
      throw new Error('mine')
    })
    await one.apply(realm('acme'))
    await one.apply(user('alice'))
    await one.eventually(() => one.source().get(alice))
    expect(one.changedKeys()).toContain('User/default/alice')
  })
})
