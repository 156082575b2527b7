import { MERGE_PATCH } from '../test/support/control_plane/account.ts'
import { API, SECRETS } from './cluster.ts'
import type { BenchCluster } from './cluster.ts'
import { eventually } from './eventually.ts'
import { ROLES } from './session.ts'
import { FIELD, PASSWORD, SECRET } from './world.ts'

export const REALM = 'bench'
const WITHIN = 60

/** The writes of an author and an approver to the API server. */
export interface People {
  /** Requests roles. Resolves when the request waits for a decision. */
  request(name: string, spec?: object, user?: string): Promise<void>
  approve(name: string): Promise<void>
  /** Resolves when `Ready` of an assignment has this reason. */
  untilReason(name: string, reason: string): Promise<unknown>
  edit(plural: string, name: string, spec: object): Promise<void>
  /** Also resolves if the object does not exist. */
  remove(plural: string, name: string): Promise<void>
  setPassword(user: number, password: string): Promise<void>
  /** A realm with a field, governance and a license, whose admin assignment is approved, a client and users. */
  applyRealm(users: number): Promise<void>
}

export function peopleOf(cluster: BenchCluster): People {
  const { plane } = cluster
  const author = plane.user('gitops')
  const approver = plane.user('carol')
  const path = (plural: string, name: string): string => `${API}/${plural}/${name}`

  const post = (kind: string, name: string, spec: object): Promise<unknown> =>
    author.do('POST', `${API}/${kind.toLowerCase()}s`, {
      apiVersion: 'realmkeeper.io/v1beta1',
      kind,
      metadata: { name },
      spec: kind === 'Realm' ? spec : { realmRef: { name: REALM }, ...spec },
    })
  const secret = (name: string, stringData: object): Promise<unknown> =>
    author.do('POST', SECRETS, { metadata: { name }, stringData })

  /** Resolves when an object has a condition with the wanted members. */
  const until = (plural: string, name: string, wanted: Record<string, string>): Promise<unknown> =>
    eventually(
      async () => {
        const { status } = await author.do('GET', path(plural, name))
        const conditions: Record<string, string>[] = status?.conditions ?? []
        return conditions.some((each) => Object.entries(wanted).every(([member, value]) => each[member] === value))
      },
      { seconds: WITHIN },
    )

  const people: People = {
    async request(name, spec = {}, user = 'user-1') {
      const subject = { kind: 'User', name: user }
      await post('RoleAssignment', name, { subject, roles: ROLES, requestedBy: 'team', reason: 'measured', ...spec })
      await people.untilReason(name, 'PendingApproval')
    },
    untilReason: (name, reason) => until('roleassignments', name, { type: 'Ready', reason }),
    async approve(name) {
      const at = path('roleassignments', name)
      const { metadata } = await approver.do('GET', at)
      const version = { observedGeneration: metadata.generation, observedUID: metadata.uid }
      const status = { approvals: [{ approver: 'carol', decision: 'Approved', ...version }] }
      await approver.do('PATCH', `${at}/status`, { status }, { contentType: MERGE_PATCH })
    },
    async edit(plural, name, spec) {
      await author.do('PATCH', path(plural, name), { spec }, { contentType: MERGE_PATCH })
    },
    async remove(plural, name) {
      const { status } = await author.call('DELETE', path(plural, name))
      if (status >= 300 && status !== 404) throw new Error(`deleting ${plural}/${name}: ${status}`)
    },
    async setPassword(user, password) {
      const contentType = MERGE_PATCH
      await author.do('PATCH', `${SECRETS}/user-${user}`, { stringData: { password } }, { contentType })
    },
    async applyRealm(users) {
      await secret('license', { license: await cluster.issueLicense(REALM) })
      await post('Realm', REALM, {
        roles: [{ name: 'reader' }],
        identityGovernance: { enabled: true },
        identityProvider: { alias: 'local', licenseSecretRef: { name: 'license' } },
        fieldEncryption: { fields: [{ ...FIELD }] },
      })
      await secret('shop', { client_secret: SECRET })
      await post('Client', 'shop', {
        clientId: 'shop',
        type: 'Confidential',
        clientSecret: { secretRef: { name: 'shop', key: 'client_secret' } },
      })
      for (let n = 0; n < users; n++) {
        await secret(`user-${n}`, { password: PASSWORD })
        await post('User', `user-${n}`, { username: `user-${n}`, passwordSecretRef: { name: `user-${n}` } })
      }
      await until('realms', REALM, { type: 'ApprovalEnforced', status: 'True' })
      await people.request('admin', { roles: ['svc-realm-admin'] }, 'user-0')
      await people.approve('admin')
      await people.untilReason('admin', 'Granted')
    },
  }
  return people
}
