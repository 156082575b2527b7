import { onTestFinished } from 'vitest'
import { shippedPolicies } from '../../../../crds/policies.ts'
import { APPLY_PATCH } from '../../../support/control_plane/account.ts'
import type { Account } from '../../../support/control_plane/account.ts'
import { startControlPlane } from '../../../support/control_plane.ts'
import type { ControlPlane } from '../../../support/control_plane.ts'
import { untilRightsAct } from '../../../support/control_plane/rights.ts'
import { realmkeeper } from '../../../support/command.ts'
import type { CommandResult } from '../../../support/command.ts'

const { policies: POLICIES, bindings: POLICY_BINDINGS } = shippedPolicies()

const GROUP = 'realmkeeper.io'
const API = `/apis/${GROUP}/v1alpha1`
export const NAMESPACE = 'team'

/** An API server with the admission policies, a Realm that wants two approvals, and people with few rights. */
export interface DecisionsWorld {
  plane: ControlPlane
  /** Approvers, and one who only writes requests. */
  ann: Account
  bea: Account
  author: Account
  /** May submit for others, as a GitOps controller may. */
  gitops: Account
  /** Runs the command as an account. */
  as(account: Account, args: string[]): Promise<CommandResult>
  /** Writes a request, by default in the author's own name, and what the operator remembers of it. */
  request(name: string, options?: RequestOptions): Promise<void>
  /** Plays the operator: the generation that is stored now resolves, and Ready is as given. */
  resolve(name: string, ready?: { status?: string; reason: string; message: string }, granted?: object): Promise<void>
  read(name: string): Promise<StoredAssignment>
}

export interface RequestOptions {
  roles?: string[]
  requestedBy?: string
  submittedBy?: string
  formerRequesters?: string[]
  labels?: Record<string, string>
  by?: Account
  fieldManager?: string
  resolved?: boolean
}

export interface StoredAssignment {
  metadata: { uid: string; generation: number; managedFields: { manager: string; subresource?: string }[] }
  status?: { approvals?: Record<string, unknown>[]; conditions?: Record<string, unknown>[] }
}

export async function decisionsWorld(): Promise<DecisionsWorld> {
  const plane = await startControlPlane()
  const { admin } = plane
  await admin.do('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
  await grantRights(admin)
  const identityGovernance = { enabled: true, requiredApprovals: 2 }
  const roles = [{ name: 'reader' }, { name: 'writer' }]
  await admin.do('POST', pathOf('realms'), { ...head('Realm', 'acme'), spec: { roles, identityGovernance } })
  await installPolicies(admin)

  const world: DecisionsWorld = {
    plane,
    ann: plane.user('ann', ['approvers']),
    bea: plane.user('bea', ['approvers']),
    author: plane.user('author', ['authors']),
    gitops: plane.user('gitops', ['submitters']),
    as: (account, args) => realmkeeper(args, { env: { KUBECONFIG: account.kubeconfig } }),

    async request(name, options = {}) {
      const { by = world.author, labels = {}, roles = ['reader'], resolved = true } = options
      const { requestedBy = by.name, submittedBy, formerRequesters, fieldManager = 'kubectl' } = options
      const object = head('RoleAssignment', name, labels)
      const subject = { kind: 'User', name: 'alice' }
      const writers = { requestedBy, submittedBy, formerRequesters }
      const body = { ...object, spec: { realmRef: { name: 'acme' }, subject, roles, ...writers } }
      const path = `${pathOf('roleassignments', name)}?fieldManager=${fieldManager}&force=true`
      await by.do('PATCH', path, body, { contentType: APPLY_PATCH })
      if (resolved) await world.resolve(name)
    },

    async resolve(name, ready = { reason: 'PendingApproval', message: '0 of 2 approvals' }, more = {}) {
      const { metadata, spec } = await admin.do('GET', pathOf('roleassignments', name))
      const { generation } = metadata
      const resolvedAt = new Date().toISOString()
      const granted = {
        generation,
        realmUID: 'r',
        subjectUID: 's',
        sub: 's',
        listedRoles: spec.roles,
        roles: spec.roles,
        requiredApprovals: 2,
        resolvedAt,
        ...more,
      }
      const times = { observedGeneration: generation, lastTransitionTime: resolvedAt }
      const conditions = [{ type: 'Ready', status: 'False', ...ready, ...times }]
      const status = { observedGeneration: generation, granted, conditions }
      const path = `${pathOf('roleassignments', name)}/status?fieldManager=realmkeeper-operator&force=true`
      await admin.do('PATCH', path, { ...head('RoleAssignment', name), status }, { contentType: APPLY_PATCH })
    },

    read: (name) => admin.do('GET', pathOf('roleassignments', name)),
  }
  return world
}

/** Removes a request when the test ends, so that the next one lists only its own. */
export function removedAfter({ plane }: DecisionsWorld, ...names: string[]): void {
  onTestFinished(async () => {
    for (const name of names) await plane.admin.call('DELETE', pathOf('roleassignments', name))
  })
}

export function pathOf(plural: string, name = ''): string {
  return `${API}/namespaces/${NAMESPACE}/${plural}${name && `/${name}`}`
}

export function head(kind: string, name: string, labels: Record<string, string> = {}): object {
  return { apiVersion: `${GROUP}/v1alpha1`, kind, metadata: { name, namespace: NAMESPACE, labels } }
}

async function grantRights(admin: Account): Promise<void> {
  const apiGroups = [GROUP]
  const read = { apiGroups, resources: ['realms', 'roleassignments'], verbs: ['get', 'list'] }
  const write = { apiGroups, resources: ['roleassignments'], verbs: ['get', 'create', 'patch', 'update', 'delete'] }
  const status = { apiGroups, resources: ['roleassignments/status'], verbs: ['get', 'patch', 'update'] }
  const approve = { apiGroups, resources: ['realms', 'roleassignments'], verbs: ['approve'] }
  const submit = { apiGroups, resources: ['roleassignments'], verbs: ['request-on-behalf'] }
  const impersonate = { apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['ann'] }
  const impersonateUngrouped = { ...impersonate, resourceNames: ['cleo'] }
  const impersonateGroup = { ...impersonate, resources: ['groups'], resourceNames: ['approvers', 'visitors'] }
  const rights: Record<string, object[]> = {
    'Group approvers': [read, status, approve],
    'Group authors': [read, write, status],
    'Group submitters': [write, submit],
    // Groups do not come with --as.
    'User ann': [read, status, approve],
    'User operations': [impersonate, impersonateUngrouped, impersonateGroup],
  }
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  for (const [who, rules] of Object.entries(rights)) {
    const [kind = '', name = ''] = who.split(' ')
    const metadata = { name: `${kind}-${name}`.toLowerCase() }
    await admin.do('POST', `${rbac}/clusterroles`, { metadata, rules })
    await admin.do('POST', `${rbac}/clusterrolebindings`, {
      metadata,
      subjects: [{ kind, name, apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name },
    })
  }
  await untilRightsAct(admin)
}

/** A policy acts about a second after it was written. */
async function installPolicies(admin: Account): Promise<void> {
  const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic'
  for (const policy of POLICIES) await admin.do('POST', `${path}ies`, policy)
  for (const binding of POLICY_BINDINGS) await admin.do('POST', `${path}ybindings`, binding)
  const probe = head('RoleAssignment', 'probe')
  const subject = { kind: 'User', name: 'alice' }
  const spec = { realmRef: { name: 'acme' }, subject, roles: ['reader'], requestedBy: 'admin' }
  await admin.do('POST', pathOf('roleassignments'), { ...probe, spec })
  for (let tries = 0; ; tries++) {
    if (tries > 400) throw new Error('the policies do not act')
    const approvals = [{ approver: 'x', decision: 'Approved', observedGeneration: 1, observedUID: 'x' }]
    const status = { approvals }
    const answer = await admin.call(
      'PATCH',
      `${pathOf('roleassignments', 'probe')}/status?dryRun=All`,
      { status },
      { contentType: 'application/merge-patch+json' },
    )
    if (answer.status === 403) break
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  await admin.do('DELETE', pathOf('roleassignments', 'probe'))
}
