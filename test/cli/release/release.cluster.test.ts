import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FINALIZER } from '../../../crds/group.ts'
import { installPolicies } from '../../support/policies.ts'
import { user } from '../../admission/legitimate.ts'
import { API, assignment, realm } from '../../admission/world.ts'
import type { Stored } from '../../admission/world.ts'
import { realmkeeper } from '../../support/command.ts'
import type { CommandResult } from '../../support/command.ts'
import { startControlPlane } from '../../support/control_plane.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { untilRightsAct } from '../../support/control_plane/rights.ts'
import { ROOT } from '../../support/source_files.ts'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/realmkeeper/leases'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const OTHER = 'example.com/kept'

describe('realmkeeper release', () => {
  let plane: ControlPlane
  let admin: Account
  /** Has the documented rights. */
  let releaser: Account
  let spaces = 0
  let space: string

  beforeAll(async () => {
    plane = await startControlPlane({ controllers: true })
    admin = plane.admin
    await admin.do('POST', '/api/v1/namespaces', { metadata: { name: 'realmkeeper' } })
    releaser = plane.user('releaser')
    await grant('releaser', [
      {
        apiGroups: ['realmkeeper.io'],
        resources: ['realms', 'clients', 'users', 'roleassignments'],
        verbs: ['get', 'list', 'patch'],
      },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
    ])
    await installPolicies(admin)
  })
  afterAll(() => plane?.stop())

  beforeEach(async () => {
    space = `team-${++spaces}`
    await admin.do('POST', '/api/v1/namespaces', { metadata: { name: space } })
    await admin.call('DELETE', `${LEASES}/realmkeeper-operator`)
  })

  async function grant(name: string, rules: object[]): Promise<void> {
    await admin.do('POST', `${RBAC}/clusterroles`, { metadata: { name }, rules })
    await admin.do('POST', `${RBAC}/clusterrolebindings`, {
      metadata: { name },
      subjects: [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { kind: 'ClusterRole', name, apiGroup: 'rbac.authorization.k8s.io' },
    })
    await untilRightsAct(admin)
  }

  /** Creates an object as the operator leaves it. */
  async function create(plural: string, object: Stored, finalizers = [FINALIZER]): Promise<Stored> {
    const metadata = { ...object.metadata, finalizers }
    return admin.do('POST', `${API}/namespaces/${space}/${plural}`, { ...object, metadata })
  }

  async function createAll(): Promise<void> {
    await create('realms', realm('acme'))
    await create('users', user('alice'))
    await create('roleassignments', assignment('waiting', { requestedBy: 'admin' }))
  }

  async function finalizersOf(plural: string, name: string): Promise<string[]> {
    const { metadata } = await admin.do('GET', `${API}/namespaces/${space}/${plural}/${name}`)
    return metadata.finalizers ?? []
  }

  function release(args: string[], as = releaser): Promise<CommandResult> {
    return realmkeeper(['release', `--kubeconfig=${as.kubeconfig}`, ...args])
  }

  function holdLease(holderIdentity: string, leaseDurationSeconds: number): Promise<Stored> {
    const spec = { holderIdentity, leaseDurationSeconds, leaseTransitions: 3 }
    return admin.do('POST', LEASES, { metadata: { name: 'realmkeeper-operator' }, spec })
  }

  test('after it, a namespace with resources of every kind can be deleted without an operator', async () => {
    await createAll()
    await admin.do('DELETE', `/api/v1/namespaces/${space}`)
    const { code, stdout, stderr } = await release(['--all-namespaces'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('Users in all namespaces: 1 released')
    expect(stdout).toContain('Rows in PostgreSQL, keyrings and Secrets stay.')
    await expect
      .poll(async () => (await admin.call('GET', `/api/v1/namespaces/${space}`)).status, { timeout: 120_000 })
      .toBe(404)
  })

  test('keeps specs, generations and finalizers of others; a second run changes nothing', async () => {
    const before = await create('realms', realm('acme'), ['example.com/first', FINALIZER, OTHER])
    expect(await release([`--namespace=${space}`])).toMatchObject({ code: 0 })
    const after = await admin.do('GET', `${API}/namespaces/${space}/realms/acme`)
    expect(after.metadata.finalizers).toEqual(['example.com/first', OTHER])
    expect({ spec: after.spec, generation: after.metadata.generation }).toEqual({
      spec: before.spec,
      generation: before.metadata.generation,
    })
    const again = await release([`--namespace=${space}`])
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('Realms in namespace team-2: 0 released') })
    const unchanged = await admin.do('GET', `${API}/namespaces/${space}/realms/acme`)
    expect(unchanged.metadata.resourceVersion).toBe(after.metadata.resourceVersion)
    for (const name of [`realms/acme`]) await admin.call('DELETE', `${API}/namespaces/${space}/${name}`)
  })

  test('releases more objects than a page holds, and reports those that disappear', { timeout: 300_000 }, async () => {
    const names = Array.from({ length: 300 }, (_, index) => `user-${index}`)
    await Promise.all(names.map((name) => create('users', user(name))))
    await admin.do('DELETE', `${API}/namespaces/${space}/users/user-7`)
    const { code, stdout } = await release([`--namespace=${space}`])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('300 released, 1 of them were being deleted and are gone'),
    })
    const { items } = await admin.do('GET', `${API}/namespaces/${space}/users`)
    expect(items).toHaveLength(299)
    expect(items.filter(({ metadata }: Stored) => metadata.finalizers)).toEqual([])
  })

  test('a run that was killed is continued by the next one', { timeout: 300_000 }, async () => {
    const names = Array.from({ length: 400 }, (_, index) => `user-${index}`)
    await Promise.all(names.map((name) => create('users', user(name))))
    const kept = async (): Promise<number> => {
      const { items } = await admin.do('GET', `${API}/namespaces/${space}/users`)
      return items.filter(({ metadata }: Stored) => metadata.finalizers?.includes(FINALIZER)).length
    }
    const args = [
      `${ROOT}/cli/realmkeeper.ts`,
      'release',
      `--kubeconfig=${releaser.kubeconfig}`,
      `--namespace=${space}`,
    ]
    const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH }, stdio: 'ignore' })
    const ended = once(child, 'exit')
    while ((await kept()) === names.length) await new Promise((resolve) => setTimeout(resolve, 5))
    child.kill('SIGKILL')
    await ended
    const left = await kept()

    // The killed run holds the Lease until it expires.
    const { code, stdout } = await release([`--namespace=${space}`])
    expect(code).toBe(0)
    // Its last calls may have arrived after it ended.
    expect(Number(/Users in namespace \S+: (\d+) released/.exec(stdout)?.[1])).toBeLessThanOrEqual(left)
    expect(await kept()).toBe(0)
  })

  test('touches no other namespace', async () => {
    await createAll()
    const elsewhere = space
    space = `team-${++spaces}`
    await admin.do('POST', '/api/v1/namespaces', { metadata: { name: space } })
    expect(await release([`--namespace=${space},team-0`])).toMatchObject({ code: 0 })
    space = elsewhere
    expect(await finalizersOf('users', 'alice')).toEqual([FINALIZER])
  })

  test('writes nothing while an operator leads, and says who', async () => {
    await createAll()
    await holdLease('operator-1', 600)
    const { code, stderr } = await release([`--namespace=${space}`, '--wait-seconds=5'])
    expect(code).toBe(1)
    expect(stderr).toContain('Lease realmkeeper/realmkeeper-operator was not free within 5 s (operator-1 holds it)')
    expect(await finalizersOf('users', 'alice')).toEqual([FINALIZER])
  })

  test('waits for the Lease, and releases it afterwards', async () => {
    await createAll()
    await holdLease('operator-1', 2)
    expect(await release([`--namespace=${space}`])).toMatchObject({ code: 0 })
    expect(await finalizersOf('users', 'alice')).toEqual([])
    const lease = await admin.do('GET', `${LEASES}/realmkeeper-operator`)
    expect(lease.spec).toMatchObject({ holderIdentity: '', leaseTransitions: 4 })
  })

  test('names each object that keeps its finalizer, and fails', async () => {
    await createAll()
    await grant('narrow', [
      { apiGroups: ['realmkeeper.io'], resources: ['realms', 'clients', 'users', 'roleassignments'], verbs: ['list'] },
      { apiGroups: ['realmkeeper.io'], resources: ['realms', 'clients', 'roleassignments'], verbs: ['patch'] },
    ])
    const { code, stderr } = await release([`--namespace=${space}`, '--no-lease'], plane.user('narrow'))
    expect(code).toBe(1)
    expect(stderr).toMatch(/1 objects keep the finalizer; run the command again:\n {2}User\/team-\d+\/alice: .*403/)
    expect(await finalizersOf('realms', 'acme')).toEqual([])
    expect(await finalizersOf('users', 'alice')).toEqual([FINALIZER])
  })

  test.for([
    [['--lease-namespace=absent'], 1, /Lease absent\/realmkeeper-operator cannot be taken .*not found/],
    [[], 2, /give either --namespace or --all-namespaces/],
    [['--namespace=a', '--all-namespaces'], 2, /give either --namespace or --all-namespaces/],
    [['--namespace=Not_a_name'], 2, /must be names of namespaces/],
  ] as const)('%s: exits with %i', async ([args, code, message]) => {
    const scope = args[0]?.startsWith('--lease') ? ['--all-namespaces'] : []
    const result = await release([...scope, ...args])
    expect(result).toMatchObject({ code, stderr: expect.stringMatching(message) })
  })
})
