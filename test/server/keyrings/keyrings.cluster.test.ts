import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../process/log.ts'
import { inClusterAccess } from '../../../kubernetes/access.ts'
import type { AccessSource } from '../../../kubernetes/access.ts'
import { processClock } from '../../../kubernetes/clock.ts'
import type { WatchTimings } from '../../../kubernetes/reflector.ts'
import { kubeconfigAccess } from '../../../kubernetes/kubeconfig_access.ts'
import { clusterKeyrings } from '../../../server/keyrings/cluster_keyrings.ts'
import type { KeyringReading } from '../../../server/keyrings/keyring_source.ts'
import { startControlPlane } from '../../support/control_plane.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import { MERGE_PATCH } from '../../support/control_plane/account.ts'
import { certificateAuthority } from '../../support/control_plane/certificates.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { untilRightsAct } from '../../support/control_plane/rights.ts'
import { eventually } from '../../support/eventually.ts'
import { ROOT } from '../../support/source_files.ts'
import { freezingProxy } from './freezing_proxy.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/keys'
const SECRETS = '/api/v1/namespaces/keys/secrets'

describe('keyrings of a cluster', () => {
  let plane: ControlPlane
  let server: Account
  const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-access-'))
  beforeAll(async () => {
    plane = await startControlPlane({ crds: false })
    await plane.admin.do('POST', '/api/v1/namespaces', { metadata: { name: 'keys' } })
    server = await plane.serviceAccount('keys', 'server')
    await plane.admin.do('POST', `${RBAC}/roles`, { metadata: { name: 'readable' }, rules: [] })
    await plane.admin.do('POST', `${RBAC}/rolebindings`, {
      metadata: { name: 'readable' },
      subjects: [{ kind: 'ServiceAccount', name: 'server', namespace: 'keys' }],
      roleRef: { kind: 'Role', name: 'readable', apiGroup: 'rbac.authorization.k8s.io' },
    })
    await untilRightsAct(plane.admin, 'keys')
  })
  afterAll(async () => {
    await plane?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  let names = 0
  const newName = (): string => `realm-r${++names}-keyring`

  async function allow(...resourceNames: string[]): Promise<void> {
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'], resourceNames }]
    await plane.admin.do('PATCH', `${RBAC}/roles/readable`, { rules }, { contentType: MERGE_PATCH })
    for (const name of resourceNames) {
      const path = `${SECRETS}?fieldSelector=metadata.name%3D${name}`
      await eventually(async () => expect((await server.call('GET', path)).status).toBe(200))
    }
  }
  const dataOf = (content: string): object => ({
    data: { 'keyring.json': Buffer.from(content).toString('base64'), other: 'c2VjcmV0' },
  })
  async function write(name: string, content: string): Promise<void> {
    const { status } = await plane.admin.call('PATCH', `${SECRETS}/${name}`, dataOf(content), {
      contentType: MERGE_PATCH,
    })
    if (status === 404) await plane.admin.do('POST', SECRETS, { metadata: { name }, ...dataOf(content) })
  }

  function follow(
    name: string,
    access: AccessSource = kubeconfigAccess({ file: server.kubeconfig, unattended: true }),
    timings: Partial<WatchTimings> = {},
  ) {
    const readings: KeyringReading[] = []
    const logged: string[] = []
    const source = clusterKeyrings({
      access,
      clock: processClock,
      random: Math.random,
      log: createLog({ name: 'test', level: 'debug', destination: { write: (line) => void logged.push(line) } }),
      timings: { firstRetryMillis: 50, longestRetryMillis: 500, ...timings },
    })
    onTestFinished(() => source.close())
    source.watch({ namespace: 'keys', name }, (reading) => void readings.push(reading))
    const last = (): string | undefined => {
      const reading = readings.at(-1)
      return reading?.outcome === 'read' ? reading.bytes.toString() : reading?.outcome
    }
    const until = (wanted: string): Promise<void> => eventually(async () => expect(last()).toBe(wanted))
    return { readings, logged, until, source }
  }

  test('created, changed, deleted and created again: each is read, with the right to that name only', async () => {
    const name = newName()
    await allow(name)
    const { until, readings } = follow(name)
    await until('absent')
    await write(name, 'one')
    await until('one')
    await write(name, 'two')
    await until('two')
    await plane.admin.do('DELETE', `${SECRETS}/${name}`)
    await until('absent')
    await write(name, 'three')
    await until('three')
    expect(JSON.stringify(readings)).not.toContain('c2VjcmV0')
  })

  test('a missing right is reported once, and the keyring is read as soon as the right exists', async () => {
    const name = newName()
    await write(name, 'one')
    const { until, readings } = follow(name)
    await until('unreadable')
    const [{ reason }] = readings as [{ outcome: 'unreadable'; reason: string }]
    expect(reason).toMatch(/^this server has no right to watch it: GET [^ ]*: 403 .*cannot list resource "secrets"/)
    await allow(name)
    await until('one')
    expect(readings.filter(({ outcome }) => outcome === 'unreadable')).toHaveLength(1)
  })

  test('row 121: the API server is killed and restarted, and its history compacted: no change is missed', async () => {
    const name = newName()
    await allow(name)
    await write(name, 'one')
    const { until, logged } = follow(name)
    await until('one')
    await plane.kill()
    await plane.start()
    await write(name, 'two')
    await until('two')

    await write(name, 'three')
    await until('three')
    await plane.admin.do('POST', '/api/v1/namespaces', { metadata: { name: newName() } })
    await plane.compact()
    await plane.restart()
    await write(name, 'four')
    await until('four')
    expect(logged.join('')).not.toContain('"four"')
  })

  test('row 121: cut and silent connections are replaced, with a pause between the tries', async () => {
    const name = newName()
    await allow(name)
    const proxy = await freezingProxy(Number(new URL(plane.url).port))
    onTestFinished(() => proxy.close())
    const direct = kubeconfigAccess({ file: server.kubeconfig })
    const access = { read: async () => ({ ...(await direct.read()), url: `https://127.0.0.1:${proxy.port}` }) }
    await write(name, 'one')
    const { until } = follow(name, access, { stallMillis: 1_000 })
    await until('one')
    proxy.cut()
    await write(name, 'two')
    await until('two')
    proxy.freeze()
    await write(name, 'three')
    await until('three')
    proxy.cut()
    await write(name, 'four')
    await until('four')
    expect(proxy.opened()).toBeLessThan(15)
  })

  test('row 121: a replaced token and authority of a pod are read from their files', async () => {
    const name = newName()
    await allow(name)
    await write(name, 'one')
    const { port } = new URL(plane.url)
    const pod = mkdtempSync(join(folder, 'pod-'))
    writeFileSync(join(pod, 'ca.crt'), certificateAuthority('another').certificate)
    writeFileSync(join(pod, 'token'), 'expired')
    const { until, logged, readings } = follow(name, inClusterAccess({ host: '127.0.0.1', port }, pod))
    await eventually(async () =>
      expect(logged.join('')).toMatch(/self-signed certificate|unable to verify|certificate/),
    )
    writeFileSync(join(pod, 'ca.crt'), plane.authority.certificate)
    await eventually(async () => expect(logged.join('')).toContain('Unauthorized'))
    expect(readings).toEqual([])
    writeFileSync(join(pod, 'token'), `${server.identity.token}\n`)
    await until('one')
    expect(logged.join('')).not.toContain(server.identity.token)
  })

  test('an untrusted certificate is refused, whatever NODE_TLS_REJECT_UNAUTHORIZED says', async () => {
    const program = `
      const { createApiClient } = await import('${ROOT}/kubernetes/api_client.ts')
      const { processClock } = await import('${ROOT}/kubernetes/clock.ts')
      const access = { read: async () => ({ url: process.argv[1], headers: { Authorization: 'Bearer secret-token' }, connection: {} }) }
      const client = createApiClient({ access, clock: processClock })
      await client.list({ method: 'GET', path: '/api/v1/namespaces/keys/secrets' }).catch((error) => console.log(error.message))
      client.close()`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program, plane.url], {
      encoding: 'utf8',
      env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    })
    expect(stdout).toMatch(/certificate/)
  })
})
