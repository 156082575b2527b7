import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rulesFor } from '../../operator/realm/keyring/keyring_role.ts'
import { API, assignment, realm } from '../admission/world.ts'
import { user } from '../admission/legitimate.ts'
import { untilPolicyActs } from './acting.ts'
import { condition, entry, ready } from '../admission/writes.ts'
import { startControlPlane, untilServed } from '../support/control_plane.ts'
import type { ControlPlane } from '../support/control_plane.ts'
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH } from '../support/control_plane/account.ts'
import type { Account } from '../support/control_plane/account.ts'
import { untilRightsAct } from '../support/control_plane/rights.ts'
import { CHART, helm, VALUES } from './helm.ts'
import type { Manifest } from './helm.ts'

const TEAM = `${API}/namespaces/team`
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces'
const POLICY = 'realmkeeper-roleassignment-decisions'
const KEYRING = 'realm-acme-keyring'
const OPERATOR = 'realmkeeper-operator'

type Call = [what: string, method: string, path: string, body?: unknown, contentType?: string]

/** Each process calls the API server with a token of the ServiceAccount that the chart creates. */
describe('an installed release', () => {
  let plane: ControlPlane
  let operator: Account
  let server: Account
  let request: Manifest

  beforeAll(async () => {
    plane = await startControlPlane({ crds: false, controllers: true })
    const { admin } = plane
    for (const name of ['realmkeeper', 'team', 'other'])
      await admin.do('POST', '/api/v1/namespaces', { metadata: { name } })
    await install()
    for (const kind of ['realms', 'clients', 'users', 'roleassignments']) await untilServed(admin, `${API}/${kind}`)
    await admin.do('POST', `${TEAM}/realms`, realm('acme'))
    await admin.do('POST', `${TEAM}/users`, user('alice'))
    request = await admin.do('POST', `${TEAM}/roleassignments`, assignment('waiting'))
    for (const [namespace, name] of [
      ['realmkeeper', KEYRING],
      ['realmkeeper', 'realmkeeper-database'],
      ['team', 'alice-password'],
    ])
      await admin.do('POST', `/api/v1/namespaces/${namespace}/secrets`, { metadata: { name } })
    operator = await plane.serviceAccount('realmkeeper', OPERATOR)
    server = await plane.serviceAccount('realmkeeper', 'realmkeeper-server')
    await untilPolicyActs(operator, request)
  })
  afterAll(() => plane?.stop())

  async function install(values: object = {}): Promise<void> {
    const args = ['upgrade', '--install', 'realmkeeper', CHART, '--namespace', 'realmkeeper']
    const { code, stderr } = await helm(args, { values: { ...VALUES, ...values }, kubeconfig: plane.admin.kubeconfig })
    if (code !== 0) throw new Error(stderr)
    await untilRightsAct(plane.admin, 'realmkeeper', 'team')
  }

  /** The calls whose status is not the expected one. */
  async function unexpectedAnswers(account: Account, calls: Call[], isExpected: (status: number) => boolean) {
    const make = async ([what, method, path, body, contentType]: Call): Promise<string[]> => {
      const answer = await account.call(method, path, body, contentType === undefined ? {} : { contentType })
      return isExpected(answer.status) ? [] : [`${what}: ${answer.status} ${answer.body.message ?? ''}`]
    }
    // Watches run in parallel, because each lasts a second. Other calls run in order, because some depend on former ones.
    const watches = calls.filter(([, , path]) => path.includes('watch=true'))
    const odd = (await Promise.all(watches.map(make))).flat()
    for (const call of calls) if (!watches.includes(call)) odd.push(...(await make(call)))
    return odd
  }

  const isAllowed = (status: number): boolean => status >= 200 && status < 300
  const isRefused = (status: number): boolean => status === 403

  function keyringRole(rules: object[]): Call {
    const path = `${RBAC}/namespaces/realmkeeper/roles/realmkeeper-keyrings?fieldManager=${OPERATOR}&force=true`
    const metadata = { name: 'realmkeeper-keyrings', namespace: 'realmkeeper' }
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules }
    return ['the Role of the servers', 'PATCH', path, role, APPLY_PATCH]
  }

  function onStatus(kind: string, name: string, status: object): Call {
    const kinds = { realms: 'Realm', users: 'User', roleassignments: 'RoleAssignment' }
    const body = {
      apiVersion: 'realmkeeper.io/v1alpha1',
      kind: kinds[kind as keyof typeof kinds],
      metadata: { name },
      status,
    }
    return [`status of ${kind}`, 'PATCH', `${TEAM}/${kind}/${name}/status?fieldManager=${OPERATOR}`, body, APPLY_PATCH]
  }

  /** A list, and a watch that ends at once. */
  function follow(what: string, path: string): Call[] {
    const separator = path.includes('?') ? '&' : '?'
    return [
      [`list ${what}`, 'GET', path],
      [`watch ${what}`, 'GET', `${path}${separator}watch=true&timeoutSeconds=1`],
    ]
  }

  test('lets the operator make every call that it needs', async () => {
    const finalizer = { metadata: { finalizers: ['realmkeeper.io/cleanup'] } }
    const calls: Call[] = [
      ...['realms', 'clients', 'users', 'roleassignments'].flatMap((kind) => follow(kind, `${API}/${kind}`)),
      ['one object', 'GET', `${TEAM}/users/alice`],
      ['a finalizer', 'PATCH', `${TEAM}/users/alice`, finalizer, MERGE_PATCH],
      ['a finalizer of a request', 'PATCH', `${TEAM}/roleassignments/waiting`, finalizer, MERGE_PATCH],
      onStatus('realms', 'acme', { observedGeneration: 1 }),
      onStatus('users', 'alice', { observedGeneration: 1 }),
      onStatus('roleassignments', 'waiting', { conditions: [ready(request)], granted: { generation: 1 } }),
      [
        'a json-patch of status',
        'PATCH',
        `${TEAM}/roleassignments/waiting/status`,
        [{ op: 'remove', path: '/status/granted' }],
        JSON_PATCH,
      ],
      ...follow('Secrets', '/api/v1/secrets'),
      ['a password', 'GET', '/api/v1/namespaces/team/secrets/alice-password'],
      ['a client’s secret', 'POST', '/api/v1/namespaces/team/secrets', { metadata: { name: 'shop-client' } }],
      ['the same again', 'PATCH', '/api/v1/namespaces/team/secrets/shop-client', { data: {} }, MERGE_PATCH],
      ['a keyring', 'POST', '/api/v1/namespaces/realmkeeper/secrets', { metadata: { name: 'realm-x-keyring' } }],
      ['a keyring’s end', 'DELETE', '/api/v1/namespaces/realmkeeper/secrets/realm-x-keyring'],
      [
        'an Event',
        'POST',
        '/api/v1/namespaces/team/events',
        { metadata: { name: 'said' }, involvedObject: { namespace: 'team' }, reason: 'Said', type: 'Normal' },
      ],
      ['the same once more', 'PATCH', '/api/v1/namespaces/team/events/said', { count: 2 }, MERGE_PATCH],
      ...follow('namespaces', '/api/v1/namespaces'),
      ['a CRD', 'GET', `${CRD}/users.realmkeeper.io`],
      ...follow('a CRD', `${CRD}?fieldSelector=metadata.name%3Dusers.realmkeeper.io`),
      ['a policy', 'GET', `${ADMISSION}/validatingadmissionpolicies/${POLICY}`],
      ...follow('a policy', `${ADMISSION}/validatingadmissionpolicies?fieldSelector=metadata.name%3D${POLICY}`),
      ['a binding', 'GET', `${ADMISSION}/validatingadmissionpolicybindings/${POLICY}`],
      ...follow('a binding', `${ADMISSION}/validatingadmissionpolicybindings?fieldSelector=metadata.name%3D${POLICY}`),
      ['a new Lease', 'POST', `${LEASES}/realmkeeper/leases`, { metadata: { name: OPERATOR } }],
      ['the Lease', 'GET', `${LEASES}/realmkeeper/leases/${OPERATOR}`],
      keyringRole([]),
      keyringRole(rulesFor([KEYRING])),
      ['the Role of the servers', 'GET', `${RBAC}/namespaces/realmkeeper/roles/realmkeeper-keyrings`],
    ]
    expect(await unexpectedAnswers(operator, calls, isAllowed)).toEqual([])

    const lease = await operator.do('GET', `${LEASES}/realmkeeper/leases/${OPERATOR}`)
    const renewed = { ...lease, spec: { holderIdentity: 'me' } }
    await operator.do('PUT', `${LEASES}/realmkeeper/leases/${OPERATOR}`, renewed)
  })

  test('refuses the operator every other call', async () => {
    const { name } = operator
    const secrets = { apiGroups: [''], resources: ['secrets'] }
    const calls: Call[] = [
      onStatus('roleassignments', 'waiting', { approvals: [entry(request, name)] }),
      onStatus('roleassignments', 'waiting', { conditions: [condition(request, name)] }),
      ['an approval of another', ...withStatus({ approvals: [entry(request, 'ann')] })],
      ['other roles', 'PATCH', `${TEAM}/roleassignments/waiting`, { spec: { roles: ['auditor'] } }, MERGE_PATCH],
      ['fewer approvals', 'PATCH', `${TEAM}/realms/acme`, { spec: { identityGovernance: null } }, MERGE_PATCH],
      ['a request', 'POST', `${TEAM}/roleassignments`, assignment('own', { requestedBy: name })],
      ['a user', 'POST', `${TEAM}/users`, user('own')],
      ['deleting a user', 'DELETE', `${TEAM}/users/alice`],
      ['deleting a Secret', 'DELETE', '/api/v1/namespaces/team/secrets/alice-password'],
      ['deleting all Secrets', 'DELETE', '/api/v1/namespaces/realmkeeper/secrets'],
      ['all CRDs', 'GET', CRD],
      ['another CRD', 'PATCH', `${CRD}/users.realmkeeper.io`, { metadata: { labels: { a: 'b' } } }, MERGE_PATCH],
      ['deleting a policy', 'DELETE', `${ADMISSION}/validatingadmissionpolicies/${POLICY}`],
      [
        'a binding that only audits',
        'PATCH',
        `${ADMISSION}/validatingadmissionpolicybindings/${POLICY}`,
        { spec: { validationActions: ['Audit'] } },
        MERGE_PATCH,
      ],
      keyringRole([{ ...secrets, verbs: ['*'] }]),
      keyringRole([{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]),
      keyringRole([{ apiGroups: ['realmkeeper.io'], resources: ['roleassignments'], verbs: ['approve'] }]),
      ['another Role', 'PATCH', `${RBAC}/namespaces/realmkeeper/roles/${OPERATOR}-keyrings`, {}, MERGE_PATCH],
      ['a Role elsewhere', 'POST', `${RBAC}/namespaces/team/roles`, { metadata: { name: 'own' }, rules: [] }],
      ['a ClusterRole', 'POST', `${RBAC}/clusterroles`, { metadata: { name: 'own' }, rules: [] }],
      [
        'a RoleBinding',
        'POST',
        `${RBAC}/namespaces/realmkeeper/rolebindings`,
        {
          metadata: { name: 'own' },
          subjects: [{ kind: 'ServiceAccount', name: OPERATOR, namespace: 'realmkeeper' }],
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'realmkeeper-approver' },
        },
      ],
      ['a Lease of others', 'POST', `${LEASES}/team/leases`, { metadata: { name: OPERATOR } }],
      ['another Lease', 'GET', `${LEASES}/realmkeeper/leases/another`],
      ['pods', 'GET', '/api/v1/namespaces/realmkeeper/pods'],
      ['a token', 'POST', '/api/v1/namespaces/realmkeeper/serviceaccounts/realmkeeper-server/token', { spec: {} }],
    ]
    expect(await unexpectedAnswers(operator, calls, isRefused)).toEqual([])
    expect(await mayDo(operator, 'approve', 'roleassignments')).toBe(false)
    expect(await mayDo(operator, 'approve', 'realms')).toBe(false)
    expect(await mayDo(operator, 'request-on-behalf', 'roleassignments')).toBe(false)
    expect(await mayDo(operator, 'set-subject', 'users')).toBe(false)
    expect(await mayDo(operator, 'report', 'roleassignments')).toBe(true)
  })

  test('lets the server read live keyrings, and nothing else', async () => {
    const secrets = '/api/v1/namespaces/realmkeeper/secrets'
    const byName = `${secrets}?fieldSelector=metadata.name%3D${KEYRING}`
    const reads: Call[] = [['a keyring', 'GET', `${secrets}/${KEYRING}`], ...follow('a keyring', byName)]
    expect(await unexpectedAnswers(server, reads, isAllowed)).toEqual([])

    const calls: Call[] = [
      ['all Secrets of the namespace', 'GET', secrets],
      ['all keyrings', 'GET', `${secrets}?labelSelector=realmkeeper.io%2Fkeyring%3Dtrue`],
      ['another Secret of the namespace', 'GET', `${secrets}/realmkeeper-database`],
      ['another Secret by its name', 'GET', `${secrets}?fieldSelector=metadata.name%3Drealmkeeper-database`],
      ['a keyring that is not live', 'GET', `${secrets}/realm-gone-keyring`],
      ['a Secret elsewhere', 'GET', '/api/v1/namespaces/team/secrets/alice-password'],
      ['Secrets everywhere', 'GET', '/api/v1/secrets'],
      ['another keyring', 'PATCH', `${secrets}/${KEYRING}`, { data: {} }, MERGE_PATCH],
      ['deleting a keyring', 'DELETE', `${secrets}/${KEYRING}`],
      ['realms', 'GET', `${API}/realms`],
      ['users', 'GET', `${TEAM}/users`],
      ['status', ...withStatus({ conditions: [condition(request, server.name)] })],
      ['its Role', 'PATCH', `${RBAC}/namespaces/realmkeeper/roles/realmkeeper-keyrings`, {}, MERGE_PATCH],
      ['the Lease', 'GET', `${LEASES}/realmkeeper/leases/${OPERATOR}`],
      ['namespaces', 'GET', '/api/v1/namespaces'],
    ]
    expect(await unexpectedAnswers(server, calls, isRefused)).toEqual([])
  })

  function withStatus(status: object): [string, string, unknown, string] {
    return ['PATCH', `${TEAM}/roleassignments/waiting/status`, { status }, MERGE_PATCH]
  }

  async function mayDo(account: Account, verb: string, resource: string): Promise<boolean> {
    const spec = { resourceAttributes: { group: 'realmkeeper.io', resource, verb, namespace: 'team' } }
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    const { status } = await account.do('POST', path, { spec })
    return status.allowed
  }

  async function bind(user: string, clusterRole: string, namespace?: string): Promise<void> {
    const kind = namespace === undefined ? 'clusterrolebindings' : `namespaces/${namespace}/rolebindings`
    await plane.admin.do('POST', `${RBAC}/${kind}`, {
      metadata: { name: `${user}-${clusterRole}` },
      subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { kind: 'ClusterRole', name: clusterRole, apiGroup: 'rbac.authorization.k8s.io' },
    })
    await untilRightsAct(plane.admin, ...(namespace === undefined ? [] : [namespace]))
  }

  test('has roles for users with the rights that their names promise', async () => {
    for (const role of ['viewer', 'author', 'approver', 'gitops']) await bind(`one-${role}`, `realmkeeper-${role}`)
    const [viewer, author, approver, gitops] = ['viewer', 'author', 'approver', 'gitops'].map((role) =>
      plane.user(`one-${role}`),
    )
    const path = `${TEAM}/roleassignments`
    expect((await viewer!.call('GET', path)).status).toBe(200)
    expect((await viewer!.call('POST', path, assignment('by-viewer'))).status).toBe(403)
    expect((await author!.call('POST', path, assignment('by-author'))).status).toBe(403)
    const own = await author!.do('POST', path, assignment('by-author', { requestedBy: 'one-author' }))
    await gitops!.do('POST', path, assignment('by-gitops'))

    const decide = (who: Account) =>
      who.call(
        'PATCH',
        `${path}/by-author/status`,
        { status: { conditions: [condition(own, who.name)] } },
        {
          contentType: MERGE_PATCH,
        },
      )
    for (const who of [viewer!, author!, gitops!]) expect((await decide(who)).status).toBe(403)
    expect((await decide(approver!)).status).toBe(200)
  })

  test('has a role that approves for one realm, in every namespace of its assignments', async () => {
    await install({ rbac: { realmApprovers: [{ namespace: 'team', realm: 'acme' }] } })
    await plane.admin.do('POST', `${RBAC}/namespaces/team/rolebindings`, {
      metadata: { name: 'rita' },
      subjects: [{ kind: 'User', name: 'rita', apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { kind: 'Role', name: 'realmkeeper-approver-acme', apiGroup: 'rbac.authorization.k8s.io' },
    })
    await bind('rita', 'realmkeeper-assignment-approver', 'other')
    await untilRightsAct(plane.admin, 'team')
    const rita = plane.user('rita')
    const decide = async (namespace: string, name: string, realmRef: object) => {
      const path = `${API}/namespaces/${namespace}/roleassignments`
      const created = await plane.admin.do('POST', path, assignment(name, { realmRef }))
      const status = { conditions: [condition(created, 'rita')] }
      return rita.call('PATCH', `${path}/${name}/status`, { status }, { contentType: MERGE_PATCH })
    }
    expect((await decide('team', 'here', { name: 'acme' })).status).toBe(200)
    expect((await decide('other', 'there', { name: 'acme', namespace: 'team' })).status).toBe(200)
    expect((await decide('team', 'another', { name: 'globex' })).status).toBe(403)
    expect((await decide('other', 'own', { name: 'acme' })).status).toBe(403)
  })

  test('aggregates nothing by default, and on request only reading into view, edit and admin', async () => {
    const rulesOf = async (role: string): Promise<Manifest[]> =>
      (await plane.admin.do('GET', `${RBAC}/clusterroles/${role}`)).rules.filter(({ apiGroups }: Manifest) =>
        apiGroups?.includes('realmkeeper.io'),
      )
    for (const role of ['view', 'edit', 'admin']) expect(await rulesOf(role)).toEqual([])
    await install({ rbac: { aggregateToView: true } })
    await expect.poll(() => rulesOf('admin'), { timeout: 120_000 }).toHaveLength(1)
    for (const role of ['view', 'edit', 'admin'])
      expect((await rulesOf(role)).flatMap(({ verbs }) => verbs)).toEqual(['get', 'list', 'watch'])
  })

  test('limits the operator to the watched namespaces', async () => {
    await install({ watchNamespaces: ['team'] })
    const calls: Call[] = [
      ...follow('Secrets', '/api/v1/namespaces/team/secrets'),
      ...follow('users', `${TEAM}/users`),
      ['a keyring', 'GET', `/api/v1/namespaces/realmkeeper/secrets/${KEYRING}`],
      [
        'the key of the audit',
        'POST',
        '/api/v1/namespaces/realmkeeper/secrets?dryRun=All',
        { metadata: { generateName: 'realmkeeper-audit-' } },
      ],
      [
        'an Event about it',
        'POST',
        '/api/v1/namespaces/realmkeeper/events',
        {
          metadata: { generateName: 'signed-' },
          involvedObject: { namespace: 'realmkeeper' },
          reason: 'AuditSigned',
          type: 'Normal',
        },
      ],
      ['its namespace', 'GET', '/api/v1/namespaces?fieldSelector=metadata.name%3Dteam'],
      onStatus('roleassignments', 'waiting', { conditions: [ready(request)], observedGeneration: 1 }),
    ]
    await expect.poll(() => unexpectedAnswers(operator, calls, isAllowed), { timeout: 120_000 }).toEqual([])
    const elsewhere: Call[] = [
      [
        'an Event elsewhere',
        'POST',
        '/api/v1/namespaces/other/events',
        { metadata: { name: 'said' }, involvedObject: { namespace: 'other' }, reason: 'Said', type: 'Normal' },
      ],
      ['Secrets everywhere', 'GET', '/api/v1/secrets'],
      ['Secrets elsewhere', 'GET', '/api/v1/namespaces/other/secrets'],
      ['users everywhere', 'GET', `${API}/users`],
      ['all namespaces', 'GET', '/api/v1/namespaces'],
    ]
    await expect.poll(() => unexpectedAnswers(operator, elsewhere, isRefused), { timeout: 120_000 }).toEqual([])
  })

  // The last test: it removes the release.
  test('row 117: is uninstalled without its CRDs, objects and policies, and installed over them again', async () => {
    // No kubelet runs the Job of the hook.
    const { code, stderr } = await helm(['uninstall', 'realmkeeper', '--namespace', 'realmkeeper', '--no-hooks'], {
      kubeconfig: plane.admin.kubeconfig,
    })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect((await plane.admin.call('GET', `${TEAM}/users/alice`)).status).toBe(200)
    expect((await plane.admin.call('GET', `${ADMISSION}/validatingadmissionpolicies/${POLICY}`)).status).toBe(200)
    expect((await plane.admin.call('GET', `${ADMISSION}/validatingadmissionpolicybindings/${POLICY}`)).status).toBe(200)
    await expect.poll(async () => (await operator.call('GET', `${TEAM}/users`)).status).toBeOneOf([401, 403])

    await install()
    expect((await plane.admin.call('GET', `${TEAM}/users/alice`)).status).toBe(200)
  })
})
