import type { Account } from '../support/control_plane/account.ts'
import { untilRightsAct } from '../support/control_plane/rights.ts'

interface Rule {
  apiGroups: string[]
  resources: string[]
  verbs: string[]
  resourceNames?: string[]
}

const OURS = ['realmkeeper.io']
const KINDS = ['realms', 'clients', 'users', 'roleassignments']
const READ = ['get', 'list', 'watch']
const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection']

const reads: Rule = { apiGroups: OURS, resources: KINDS, verbs: READ }
const writes: Rule = { apiGroups: OURS, resources: KINDS, verbs: WRITE }
const writesStatus: Rule = { apiGroups: OURS, resources: ['roleassignments/status'], verbs: ['get', 'update', 'patch'] }
const approves: Rule = { apiGroups: OURS, resources: ['roleassignments', 'realms'], verbs: ['approve'] }
const verb = (resource: string, name: string): Rule => ({ apiGroups: OURS, resources: [resource], verbs: [name] })

/** Cluster-wide rights. */
const CLUSTER_ROLES: Record<string, Rule[]> = {
  viewer: [reads],
  author: [reads, writes],
  // All rights on RoleAssignments and their status except approve.
  forger: [reads, writes, writesStatus],
  approver: [reads, writesStatus, approves],
  // No right to approve RoleAssignments in a namespace.
  'realm-approver': [reads, writesStatus, verb('realms', 'approve')],
  'author-and-approver': [reads, writes, writesStatus, approves],
  gitops: [reads, writes, writesStatus, verb('roleassignments', 'request-on-behalf')],
  'gitops-and-approver': [reads, writes, writesStatus, approves, verb('roleassignments', 'request-on-behalf')],
  operator: [
    reads,
    { apiGroups: OURS, resources: KINDS, verbs: ['patch', 'update'] },
    writesStatus,
    verb('roleassignments', 'report'),
  ],
  'operator-and-approver': [reads, writesStatus, approves, verb('roleassignments', 'report')],
  'subject-setter': [reads, writes, verb('users', 'set-subject')],
  'user-author': [reads, writes, { apiGroups: OURS, resources: ['users/status'], verbs: ['update', 'patch'] }],
  everything: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
  impersonator: [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['ann'] }],
}

/** Accounts by role. Rita and Olga have rights in some namespaces only; see `bindInWorld`. */
const HOLDERS: Record<string, string[]> = {
  viewer: ['vic', 'rita', 'impatient'],
  author: ['carol'],
  forger: ['mallory'],
  approver: ['ann', 'amy', 'ben'],
  'realm-approver': ['regent'],
  'author-and-approver': ['dora', 'ANN', 'greg'],
  gitops: ['system:serviceaccount:default:gitops', 'AMY'],
  'gitops-and-approver': ['eager-gitops'],
  operator: ['system:serviceaccount:default:operator'],
  'operator-and-approver': ['eager-operator'],
  'subject-setter': ['sue'],
  'user-author': ['una'],
  everything: ['star'],
  impersonator: ['ida'],
}

const API = '/apis/rbac.authorization.k8s.io/v1'

/** Creates the roles and their bindings. */
export async function installRbac(admin: Account): Promise<void> {
  const roles = Object.entries(CLUSTER_ROLES).map(([name, rules]) =>
    admin.do('POST', `${API}/clusterroles`, { metadata: { name: `test:${name}` }, rules }),
  )
  const bindings = Object.entries(HOLDERS).map(([role, users]) =>
    admin.do('POST', `${API}/clusterrolebindings`, { metadata: { name: `test:${role}` }, ...binding(role, users) }),
  )
  await Promise.all([...roles, ...bindings])
  await untilRightsAct(admin)
}

/**
 * In one pair of namespaces: Rita approves for the Realm `acme` alone, wherever the assignment is. Olga owns `away`,
 * where Nora approves for any Realm of that namespace.
 */
export async function bindInWorld(admin: Account, { home, away }: { home: string; away: string }): Promise<void> {
  const role = (namespace: string, name: string, rules: Rule[]): Promise<unknown> =>
    admin.do('POST', `${API}/namespaces/${namespace}/roles`, { metadata: { name }, rules })
  const bind = (namespace: string, kind: string, name: string, user: string): Promise<unknown> =>
    admin.do('POST', `${API}/namespaces/${namespace}/rolebindings`, {
      metadata: { name: `${user}-${name}` },
      subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { kind, name, apiGroup: 'rbac.authorization.k8s.io' },
    })
  const assignments: Rule[] = [writesStatus, verb('roleassignments', 'approve')]
  await role(home, 'approver-of-acme', [...assignments, { ...verb('realms', 'approve'), resourceNames: ['acme'] }])
  await role(away, 'approver-here', assignments)
  await role(away, 'approver-for-realms-here', [...assignments, verb('realms', 'approve')])
  await role(away, 'owner', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])
  await bind(home, 'Role', 'approver-of-acme', 'rita')
  await bind(away, 'Role', 'approver-here', 'rita')
  await bind(away, 'Role', 'approver-for-realms-here', 'nora')
  await bind(away, 'Role', 'owner', 'olga')
  await untilRightsAct(admin, home, away)
}

function binding(role: string, users: string[]): object {
  return {
    subjects: users.map((name) => ({ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' })),
    roleRef: { kind: 'ClusterRole', name: `test:${role}`, apiGroup: 'rbac.authorization.k8s.io' },
  }
}
