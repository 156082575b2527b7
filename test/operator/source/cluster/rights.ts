import type { Account } from '../../../support/control_plane/account.ts'
import { untilRightsAct } from '../../../support/control_plane/rights.ts'

const KINDS = ['realms', 'clients', 'users', 'roleassignments']
const READ = ['get', 'list', 'watch']

/** The rights that the source needs, and no others. */
export const OPERATOR_RULES = [
  { apiGroups: ['realmkeeper.io'], resources: KINDS, verbs: [...READ, 'patch'] },
  { apiGroups: ['realmkeeper.io'], resources: KINDS.map((kind) => `${kind}/status`), verbs: ['patch'] },
  { apiGroups: ['realmkeeper.io'], resources: ['roleassignments'], verbs: ['report'] },
  { apiGroups: [''], resources: ['secrets'], verbs: [...READ, 'create', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: READ },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  {
    apiGroups: ['apiextensions.k8s.io'],
    resources: ['customresourcedefinitions'],
    resourceNames: KINDS.map((kind) => `${kind}.realmkeeper.io`),
    verbs: READ,
  },
]

export const APPROVER_RULES = [
  { apiGroups: ['realmkeeper.io'], resources: KINDS, verbs: READ },
  { apiGroups: ['realmkeeper.io'], resources: ['roleassignments/status'], verbs: ['get', 'patch', 'update'] },
]

const RBAC = '/apis/rbac.authorization.k8s.io/v1'

/** Grants rights in the whole cluster. */
export async function grant(admin: Account, to: string, rules: object[]): Promise<void> {
  await admin.do('POST', `${RBAC}/clusterroles`, { metadata: { name: to }, rules })
  await admin.do('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name: to },
    subjects: [{ kind: 'User', name: to, apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { kind: 'ClusterRole', name: to, apiGroup: 'rbac.authorization.k8s.io' },
  })
  await untilRightsAct(admin)
}
