import type { ControlPlane } from '../../support/control_plane.ts'
import { untilRightsAct } from '../../support/control_plane/rights.ts'
import { READ_POLICIES } from '../../support/policies.ts'
import { OPERATOR_RULES } from '../../operator/source/cluster/rights.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const KINDS = ['realms', 'clients', 'users', 'roleassignments']
const READ = ['get', 'list', 'watch']

export const KEYRING_NAMESPACE = 'realmkeeper'

/** The rights of the operator in its own namespace: the Lease, and the Role that lists the keyrings. */
const HOME_RULES = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
  { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['create'] },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['roles'],
    resourceNames: ['realmkeeper-keyrings'],
    verbs: ['get', 'patch'],
  },
]

const SUBMITTER_RULES = [
  { apiGroups: ['realmkeeper.io'], resources: KINDS, verbs: ['*'] },
  { apiGroups: [''], resources: ['secrets', 'namespaces'], verbs: ['*'] },
]

const APPROVER_RULES = [
  { apiGroups: ['realmkeeper.io'], resources: KINDS, verbs: READ },
  { apiGroups: ['realmkeeper.io'], resources: ['roleassignments/status'], verbs: ['get', 'patch', 'update'] },
  { apiGroups: ['realmkeeper.io'], resources: ['roleassignments', 'realms'], verbs: ['approve'] },
]

/** The rights of an author who submits resources for others, as a GitOps account does. */
const AUTHOR_RULES = SUBMITTER_RULES.map((rule) =>
  rule.apiGroups.includes('realmkeeper.io')
    ? { ...rule, verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'request-on-behalf'] }
    : rule,
)

/** Grants the processes, an author and two approvers the rights that they need, and no others. */
export async function giveRights({ admin }: ControlPlane): Promise<void> {
  const serviceAccount = (name: string): object => ({ kind: 'ServiceAccount', namespace: KEYRING_NAMESPACE, name })
  const user = (name: string): object => ({ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' })

  async function inCluster(name: string, rules: object[], ...subjects: object[]): Promise<void> {
    const roleRef = { kind: 'ClusterRole', name, apiGroup: 'rbac.authorization.k8s.io' }
    await admin.do('POST', `${RBAC}/clusterroles`, { metadata: { name }, rules })
    await admin.do('POST', `${RBAC}/clusterrolebindings`, { metadata: { name }, subjects, roleRef })
  }
  const home = `${RBAC}/namespaces/${KEYRING_NAMESPACE}`
  const roleBinding = (name: string, subject: object): Promise<unknown> =>
    admin.do('POST', `${home}/rolebindings`, {
      metadata: { name },
      subjects: [subject],
      roleRef: { kind: 'Role', name, apiGroup: 'rbac.authorization.k8s.io' },
    })

  await inCluster('operator', [...OPERATOR_RULES, READ_POLICIES], serviceAccount('operator'))
  await admin.do('POST', `${home}/roles`, { metadata: { name: 'operator' }, rules: HOME_RULES })
  await roleBinding('operator', serviceAccount('operator'))
  // The operator writes the Role itself.
  await roleBinding('realmkeeper-keyrings', serviceAccount('server'))
  await inCluster('author', AUTHOR_RULES, user('gitops'))
  await inCluster('approver', APPROVER_RULES, user('carol'), user('dave'))
  await untilRightsAct(admin, KEYRING_NAMESPACE)
}
