import { expect } from 'vitest'
import { createApiClient } from '../../../kubernetes/api_client.ts'
import { kubeconfigAccess } from '../../../kubernetes/kubeconfig_access.ts'
import type { Clock } from '../../../kubernetes/clock.ts'
import { processClock } from '../../../kubernetes/clock.ts'
import { enforcementCheck } from '../../../operator/enforcement/enforcement_check.ts'
import { clusterPolicyAccess } from '../../../operator/enforcement/cluster_policy_access.ts'
import type { ShippedSet } from '../../../operator/enforcement/release/shipped_set.ts'
import { createOperatorMetrics } from '../../../operator/metrics.ts'
import type { OperatorMetrics } from '../../../operator/metrics.ts'
import { passwordHasher } from '../../../operator/user/password_hash.ts'
import { withoutElection } from '../../../operator/leadership/leader_election.ts'
import { createLeadership } from '../../../operator/leadership/leadership.ts'
import type { RoleAssignmentResource } from '../../../operator/view/resource_types.ts'
import { clusterSource } from '../../../operator/source/cluster/cluster_source.ts'
import { createLog } from '../../../process/log.ts'
import { startControlPlane } from '../../support/control_plane.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import { APPLY_PATCH, MERGE_PATCH } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { READ_POLICIES } from '../../support/policies.ts'
import { eventually } from '../operator_under_test.ts'
import { grant, OPERATOR_RULES } from '../source/cluster/rights.ts'

const OURS = '/apis/realmkeeper.io/v1alpha1'

/** Ten seconds of the operator pass in two, which is still longer than a policy takes to act. */
const FAST: Clock = {
  now: () => processClock.now() * 5,
  after: (millis, then) => processClock.after(millis / 5, then),
}

export interface StartOptions {
  required?: boolean
  trustExisting?: boolean
  /** What its release ships. */
  set?: ShippedSet
}

export interface Running {
  stop(): Promise<void>
}

/** An operator that reconciles a real cluster into a database of its own, and people who write to it. */
export interface EnforcementWorld {
  database: TestDatabase
  start(options?: StartOptions): Promise<Running>
  /** Creates the Realm `acme`, by default with governance, where one approval is enough. */
  createRealm(governance?: { enabled: boolean; requiredApprovals?: number }): Promise<void>
  deleteRealm(): Promise<void>
  /** Asks for a role, by default `reader`, for everybody in the realm. By default the administrator names Carol. */
  request(name: string, written?: { as?: Account; requestedBy?: string; role?: string }): Promise<void>
  /** Any edit makes a new generation. */
  edit(name: string, written?: { as?: Account; spec?: object }): Promise<void>
  remove(name: string): Promise<void>
  /** As `realmkeeper approve` does; rejects when it is refused. `named` is who the entry says decided. */
  approve(name: string, as: Account, named?: string): Promise<void>
  read(name: string): Promise<RoleAssignmentResource>
  /** Resolves when `Ready` of the present generation has this reason. */
  untilSaid(name: string, reason: string): Promise<string>
  untilEnforced(status: 'True' | 'False', reason: string): Promise<string>
  /** Roles that count now. */
  granted(): Promise<string[]>
  recorded(): Promise<string[]>
  /** Of the operator that was started last, as scraped. */
  metrics(): Promise<string>
  end(): Promise<void>
}

/** A control plane where the operator may read the policies, and these people may request and approve. */
export async function enforcementPlane(...people: readonly string[]): Promise<ControlPlane> {
  const plane = await startControlPlane()
  await grant(plane.admin, 'operator', [...OPERATOR_RULES, READ_POLICIES])
  for (const name of people) {
    await grant(plane.admin, name, [
      {
        apiGroups: ['realmkeeper.io'],
        resources: ['realms', 'roleassignments'],
        verbs: ['get', 'list', 'watch', 'approve'],
      },
      {
        apiGroups: ['realmkeeper.io'],
        resources: ['roleassignments'],
        verbs: ['create', 'patch', 'update', 'delete'],
      },
      {
        apiGroups: ['realmkeeper.io'],
        resources: ['roleassignments/status'],
        verbs: ['get', 'patch', 'update'],
      },
    ])
  }
  return plane
}

/** @param others further namespaces that the operator watches */
export async function enforcementWorld(
  plane: ControlPlane,
  namespace: string,
  others: readonly string[] = [],
): Promise<EnforcementWorld> {
  const namespaces = [namespace, ...others]
  const { admin } = plane
  const operator = plane.user('operator')
  const database = await testDatabase()
  const running = new Set<Running>()
  let metrics: OperatorMetrics | undefined
  for (const name of namespaces) await admin.do('POST', '/api/v1/namespaces', { metadata: { name } })
  const path = (plural: string, name = ''): string => `${OURS}/namespaces/${namespace}/${plural}/${name}`

  async function start({ required = true, trustExisting = false, set }: StartOptions = {}): Promise<Running> {
    const log = createLog({ name: 'operator', level: 'debug', destination: { write: () => undefined } })
    const client = createApiClient({
      access: kubeconfigAccess({ file: operator.kubeconfig }),
      clock: processClock,
    })
    const source = clusterSource({
      client,
      clock: processClock,
      namespaces,
      keyringNamespace: namespace,
      instance: 'test',
      now: () => new Date(),
      random: Math.random,
      log,
    })
    const access = clusterPolicyAccess({
      client,
      namespaces,
      clock: processClock,
      random: Math.random,
      log,
    })
    metrics = createOperatorMetrics({
      source,
      stats: () => undefined,
      isLeading: () => true,
      watches: () => source.watches(),
      now: () => new Date(),
    })
    await source.start()
    const leadership = createLeadership({
      origin: {
        source,
        secrets: () => source.secrets,
        elect: withoutElection,
        mayBeAway: true,
        enforcementCheck: () =>
          enforcementCheck({ access, required, trustExisting, ...(set && { set }), clock: FAST, log }),
        close: () => undefined,
      },
      pool: database.pool,
      migrateDatabaseUrl: database.url,
      databaseRoles: {},
      holder: 'test',
      acceptAuditBreak: undefined,
      acceptEmpty: [],
      workers: { Realm: 2, Client: 4, User: 8, RoleAssignment: 4 },
      resyncMillis: 600_000,
      metrics,
      clock: processClock,
      random: Math.random,
      now: () => new Date(),
      log,
      reconcilers: {
        passwords: passwordHasher(),
        baseUrl: 'http://localhost:8080',
        keyringNamespace: namespace,
        licenseKeys: [],
      },
    })
    leadership.start()
    await eventually(() => expect(leadership.state()).toBe('leading'))
    const started: Running = {
      async stop() {
        running.delete(started)
        await leadership.stop()
        await source.stop()
        client.close()
      },
    }
    running.add(started)
    return started
  }

  async function untilGone(object: string): Promise<void> {
    await eventually(async () => expect((await admin.call('GET', object)).status).toBe(404))
  }

  async function read(name: string): Promise<RoleAssignmentResource> {
    return admin.do('GET', path('roleassignments', name))
  }

  return {
    database,
    start,
    read,
    async createRealm(governance = { enabled: true }) {
      await admin.do('POST', path('realms'), {
        apiVersion: 'realmkeeper.io/v1alpha1',
        kind: 'Realm',
        metadata: { name: namespace },
        spec: {
          roles: [{ name: 'reader' }],
          tokens: { signingAlgorithm: 'ES256' },
          identityGovernance: governance,
        },
      })
    },
    async deleteRealm() {
      await admin.do('DELETE', path('realms', namespace))
      await untilGone(path('realms', namespace))
    },
    async request(name, { as = admin, requestedBy = 'carol', role = 'reader' } = {}) {
      await as.do('POST', path('roleassignments'), {
        apiVersion: 'realmkeeper.io/v1alpha1',
        kind: 'RoleAssignment',
        metadata: { name },
        spec: {
          realmRef: { name: namespace },
          subject: { kind: 'Group', name: `default-roles-${namespace}` },
          roles: [role],
          requestedBy,
        },
      })
    },
    async edit(name, { as = admin, spec = { reason: `edited at ${Date.now()}` } } = {}) {
      await as.do('PATCH', path('roleassignments', name), { spec }, { contentType: MERGE_PATCH })
    },
    async remove(name) {
      await admin.do('DELETE', path('roleassignments', name))
      await untilGone(path('roleassignments', name))
    },
    async approve(name, as, named = as.name) {
      const { metadata } = await read(name)
      const entry = {
        approver: named,
        decision: 'Approved',
        observedGeneration: metadata.generation,
        observedUID: metadata.uid,
      }
      await as.do(
        'PATCH',
        `${path('roleassignments', name)}/status?fieldManager=approver-${as.name}&force=true`,
        {
          apiVersion: 'realmkeeper.io/v1alpha1',
          kind: 'RoleAssignment',
          metadata: { name, namespace },
          status: { approvals: [entry] },
        },
        { contentType: APPLY_PATCH },
      )
    },
    untilSaid: (name, reason) =>
      eventually(async () => {
        const { metadata, status } = await read(name)
        const ready = status?.conditions?.find(({ type }) => type === 'Ready')
        if (ready?.reason === reason && ready.observedGeneration === metadata.generation) return ready.message ?? ''
        throw new Error(`${name} says ${JSON.stringify(ready)}, not ${reason}`)
      }),
    untilEnforced: (status, reason) =>
      eventually(async () => {
        const realm = await admin.do('GET', path('realms', namespace))
        const conditions: { type: string; status: string; reason: string; message: string }[] =
          realm.status?.conditions ?? []
        const said = conditions.find(({ type }) => type === 'ApprovalEnforced')
        if (said?.status === status && said.reason === reason) return said.message
        throw new Error(`ApprovalEnforced is ${JSON.stringify(said)}, not ${status} ${reason}`)
      }),
    async granted() {
      const { rows } = await database.pool.query<{ role: string }>('select role from granted_roles order by 1')
      return rows.map(({ role }) => role)
    },
    async recorded() {
      const { rows } = await database.pool.query<{ approver: string }>('select approver from decisions order by 1')
      return rows.map(({ approver }) => approver)
    },
    metrics: async () => (await metrics?.registry.metrics()) ?? '',
    async end() {
      await Promise.all([...running].map((each) => each.stop()))
      await database.drop()
    },
  }
}
