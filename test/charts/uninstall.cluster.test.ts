import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { FINALIZER } from '../../crds/group.ts'
import { user } from '../admission/legitimate.ts'
import { API, assignment, realm } from '../admission/world.ts'
import { condition } from '../admission/writes.ts'
import { startPart } from '../end_to_end/cluster/part.ts'
import type { Part } from '../end_to_end/cluster/part.ts'
import { recordKeyring, recordSecrets } from '../support/canary.ts'
import { realmkeeper } from '../support/command.ts'
import type { CommandResult } from '../support/command.ts'
import { startControlPlane, untilServed } from '../support/control_plane.ts'
import type { ControlPlane } from '../support/control_plane.ts'
import { MERGE_PATCH } from '../support/control_plane/account.ts'
import type { Account } from '../support/control_plane/account.ts'
import { freePort } from '../support/control_plane/child.ts'
import { untilRightsAct } from '../support/control_plane/rights.ts'
import { testDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { CHART, find, helm, render, VALUES } from './helm.ts'
import type { HelmResult, Manifest } from './helm.ts'

const NAMESPACE = 'realmkeeper'
const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/realmkeeper-operator`
const JOB = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs/realmkeeper-release`
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/realmkeeper-operator`

/** There is no kubelet: the test runs the processes of the Deployment and of the Job, each as its ServiceAccount. */
describe('row 143: an uninstalled release', () => {
  let plane: ControlPlane
  let admin: Account
  let database: TestDatabase
  let operator: Part | undefined

  beforeAll(async () => {
    ;[plane, database] = await Promise.all([
      startControlPlane({ crds: false, controllers: true }),
      testDatabase({ migrated: false }),
    ])
    admin = plane.admin
    await admin.do('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
  })

  afterAll(async () => {
    await operator?.stop()
    const keyrings = await admin?.call('GET', `/api/v1/namespaces/${NAMESPACE}/secrets`).catch(() => undefined)
    for (const { data } of keyrings?.body.items ?? [])
      if (data?.['keyring.json']) recordKeyring(JSON.parse(Buffer.from(data['keyring.json'], 'base64').toString()))
    await plane?.stop()
    await database?.drop()
  })

  function until<Result>(attempt: () => Promise<Result>): Promise<Result> {
    return vi.waitFor(attempt, { timeout: 120_000, interval: 100 })
  }

  function runHelm(args: string[], values?: object): Promise<HelmResult> {
    const { kubeconfig } = admin
    return helm([...args, '--namespace', NAMESPACE], { ...(values && { values }), kubeconfig })
  }

  /** Installs the chart, starts its operator, and waits until it has finalizers on objects in a new namespace. */
  async function install(space: string): Promise<void> {
    const { code, stderr } = await runHelm(['install', 'realmkeeper', CHART], VALUES)
    expect({ code, stderr }).toMatchObject({ code: 0 })
    for (const kind of ['realms', 'clients', 'users', 'roleassignments']) await untilServed(admin, `${API}/${kind}`)
    operator = await startOperator()

    await admin.do('POST', '/api/v1/namespaces', { metadata: { name: space } })
    const path = `${API}/namespaces/${space}`
    await admin.do('POST', `${path}/realms`, realm(`realm-${space}`))
    const realmRef = { name: `realm-${space}` }
    await admin.do('POST', `${path}/users`, user('alice', { realmRef }))
    await admin.do('POST', `${path}/roleassignments`, assignment('waiting', { realmRef, requestedBy: 'admin' }))
    await until(async () => {
      for (const plural of ['realms', 'users', 'roleassignments'])
        expect(await finalizersIn(space, plural)).toEqual([FINALIZER])
    })
  }

  async function finalizersIn(space: string, plural: string): Promise<string[]> {
    const { items } = await admin.do('GET', `${API}/namespaces/${space}/${plural}`)
    return items.flatMap(({ metadata }: Manifest) => metadata.finalizers ?? [])
  }

  async function startOperator(): Promise<Part> {
    const account = await plane.serviceAccount(NAMESPACE, 'realmkeeper-operator')
    recordSecrets(account.identity.token)
    const { env } = find(await render(), 'Deployment', 'realmkeeper-operator').spec.template.spec.containers[0]
    const given = env.filter(({ value }: Manifest) => value !== undefined)
    const healthPort = await freePort()
    const part = startPart('operator', {
      healthPort,
      env: {
        ...Object.fromEntries(given.map(({ name, value }: Manifest) => [name, value])),
        REALMKEEPER_DATABASE_URL: database.url,
      },
      args: ['--listen-host=127.0.0.1', `--health-listen-port=${healthPort}`, `--kubeconfig=${account.kubeconfig}`],
    })
    await until(async () => expect(await part.isReady(), part.output().slice(-2_000)).toBe(true))
    return part
  }

  /** The kubelet's part: stops the operator when its Deployment has no replicas, and runs the Job. */
  async function runHook(space: string): Promise<{ job: Manifest; result: CommandResult }> {
    const job = await until(() => admin.do('GET', JOB))
    const { serviceAccountName, containers } = job.spec.template.spec
    const account = await plane.serviceAccount(NAMESPACE, serviceAccountName)
    recordSecrets(account.identity.token)
    await untilRightsAct(admin, NAMESPACE)
    const running = realmkeeper([...containers[0].args, `--kubeconfig=${account.kubeconfig}`])
    await until(async () => expect((await admin.do('GET', DEPLOYMENT)).spec.replicas).toBe(0))
    await operator?.stop()
    const result = await running
    expect(await allowedTo(account, space)).toEqual([])

    const time = new Date().toISOString().replace(/\.\d+Z/, 'Z')
    const type = result.code === 0 ? 'Complete' : 'Failed'
    const criterion = result.code === 0 ? 'SuccessCriteriaMet' : 'FailureTarget'
    const conditions = [criterion, type].map((each) => ({ type: each, status: 'True', lastTransitionTime: time }))
    const status = { startTime: time, conditions, ...(result.code === 0 && { completionTime: time, succeeded: 1 }) }
    await admin.do('PATCH', `${JOB}/status`, { status }, { contentType: MERGE_PATCH })
    return { job, result }
  }

  /** What the account of the hook may do beyond its purpose. */
  async function allowedTo(account: Account, space: string): Promise<string[]> {
    const path = `${API}/namespaces/${space}`
    const request = await admin.do('GET', `${path}/roleassignments/waiting`)
    const approval = { status: { conditions: [condition(request, account.name)] } }
    const scale = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/realmkeeper-server/scale`
    const attempts: [string, string, string, unknown?][] = [
      ['approve', 'PATCH', `${path}/roleassignments/waiting/status`, approval],
      ['request roles', 'PATCH', `${path}/roleassignments/waiting`, { spec: { roles: ['auditor'] } }],
      ['disable governance', 'PATCH', `${path}/realms/realm-${space}`, { spec: { identityGovernance: null } }],
      ['delete a Realm', 'DELETE', `${path}/realms/realm-${space}`],
      ['create a User', 'POST', `${path}/users`, user('mallory')],
      ['read Secrets', 'GET', '/api/v1/secrets'],
      ['read another Lease', 'GET', `${LEASE}-other`],
      ['stop the server', 'PATCH', scale, { spec: { replicas: 0 } }],
      ['read CRDs', 'GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'],
    ]
    const allowed: string[] = []
    for (const [what, method, to, body] of attempts) {
      const { status } = await account.call(method, to, body, { contentType: MERGE_PATCH })
      if (status !== 403) allowed.push(`${what}: ${status}`)
    }
    return allowed
  }

  async function untilDeleted(space: string): Promise<void> {
    await until(async () => expect((await admin.call('GET', `/api/v1/namespaces/${space}`)).status).toBe(404))
  }

  test('leaves objects and namespaces that can be deleted', { timeout: 600_000 }, async () => {
    await install('with-hook')
    const [uninstalled, { result }] = await Promise.all([runHelm(['uninstall', 'realmkeeper']), runHook('with-hook')])
    expect(result, result.stderr).toMatchObject({ code: 0 })
    expect(uninstalled, uninstalled.stderr).toMatchObject({ code: 0 })
    expect(result.stdout).toContain('Users in all namespaces: 1 released')

    await admin.do('DELETE', '/api/v1/namespaces/with-hook')
    await untilDeleted('with-hook')
    // The rights of the hook end with it, and the policies stay.
    for (const path of [
      JOB,
      `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/realmkeeper-release`,
      `${RBAC}/clusterroles/realmkeeper-release`,
      `${RBAC}/clusterrolebindings/realmkeeper-release`,
      `${RBAC}/namespaces/${NAMESPACE}/roles/realmkeeper-release-lease`,
    ])
      expect(await admin.call('GET', path)).toMatchObject({ status: 404 })
    const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
    expect((await admin.call('GET', `${policies}/realmkeeper-roleassignment-decisions`)).status).toBe(200)
    expect((await admin.do('GET', LEASE)).spec.holderIdentity ?? '').toBe('')
    const { rows } = await database.pool.query('select name from realms')
    expect(rows).toHaveLength(1)
  })

  test('without its hook: "realmkeeper release" lets a deleted namespace go', { timeout: 600_000 }, async () => {
    await install('without-hook')
    await operator?.stop()
    const { code, stderr } = await runHelm(['uninstall', 'realmkeeper', '--no-hooks'])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    await admin.do('DELETE', '/api/v1/namespaces/without-hook')
    await until(async () => {
      const { status } = await admin.do('GET', '/api/v1/namespaces/without-hook')
      const kept = status.conditions?.find(({ type }: Manifest) => type === 'NamespaceFinalizersRemaining')
      expect(kept).toMatchObject({ status: 'True', message: expect.stringContaining(FINALIZER) })
    })

    const result = await realmkeeper(['release', '--all-namespaces', `--kubeconfig=${admin.kubeconfig}`])
    expect(result, result.stderr).toMatchObject({ code: 0 })
    await untilDeleted('without-hook')
  })
})

describe('the rights of the release', () => {
  test('are those of the watched namespaces, the Lease and the Deployment of the operator', async () => {
    const manifests = await render({ watchNamespaces: ['acme', 'globex'] })
    const hooks = manifests.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-delete')
    const roles = hooks.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
    expect(roles.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`).toSorted()).toEqual([
      'Role acme/realmkeeper-release',
      'Role globex/realmkeeper-release',
      'Role realmkeeper/realmkeeper-release-lease',
    ])
    const verbs = roles.flatMap(({ rules }) => rules.flatMap((rule: Manifest) => rule.verbs))
    expect(new Set(verbs)).toEqual(new Set(['get', 'list', 'patch', 'create', 'update']))
    const job = find(hooks, 'Job', 'realmkeeper-release')
    expect(job.spec.template.spec.containers[0].args).toContain('--namespace=acme,globex')
  })

  test('and nothing of it is rendered where it is switched off', async () => {
    const manifests = await render({ releaseOnUninstall: { enabled: false } })
    expect(manifests.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'])).toEqual([])
  })
})
