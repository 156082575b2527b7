import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from './account.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const TRIES = 2_000
let barriers = 0

/**
 * Resolves when the API server applies all roles and bindings that were written before, in the whole cluster and in these
 * namespaces. It receives them by watches, in their order, so this waits for a right that is written last.
 */
export async function untilRightsAct(admin: Account, ...namespaces: string[]): Promise<void> {
  await Promise.all([undefined, ...namespaces].map((namespace) => untilLastActs(admin, namespace)))
}

async function untilLastActs(admin: Account, namespace: string | undefined): Promise<void> {
  const name = `barrier-${++barriers}`
  const apiGroup = 'rbac.authorization.k8s.io'
  const [kind, path] =
    namespace === undefined ? ['ClusterRole', `${RBAC}/cluster`] : ['Role', `${RBAC}/namespaces/${namespace}/`]
  const asked = { verb: 'get', resource: 'configmaps', name }
  const rules = [{ apiGroups: [''], resources: [asked.resource], resourceNames: [name], verbs: [asked.verb] }]
  await admin.do('POST', `${path}roles`, { metadata: { name }, rules })
  await admin.do('POST', `${path}rolebindings`, {
    metadata: { name },
    subjects: [{ kind: 'User', name, apiGroup }],
    roleRef: { kind, name, apiGroup },
  })
  const spec = { user: name, resourceAttributes: { ...asked, namespace: namespace ?? 'default' } }
  for (let tries = 0; tries < TRIES; tries++) {
    const { status } = await admin.do('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec })
    if (status.allowed) return
    await sleep(10)
  }
  throw new Error(`rights in ${namespace ?? 'the cluster'} do not act`)
}
