import { findRoleAssignmentByUid } from '../../store/role_assignments.ts'
import { recordSecrets } from '../support/canary.ts'
import type { Account } from '../support/control_plane/account.ts'
import { freePort } from '../support/control_plane/child.ts'
import { CLIENT, clusterWorld, until } from '../end_to_end/cluster/cluster_world.ts'
import type { Answer, ClusterWorld } from '../end_to_end/cluster/cluster_world.ts'
import { startPart } from '../end_to_end/cluster/part.ts'
import type { Part } from '../end_to_end/cluster/part.ts'
import { KEYRING_NAMESPACE } from '../end_to_end/cluster/rights.ts'
import { GATED, HARMLESS } from './mallory.ts'
import { installRbac } from './rbac.ts'
import { API } from './world.ts'
import type { Stored } from './world.ts'

export const HOME = 'quickstart'

/** A governed realm with a running operator and server, and users who each have a session. */
export interface TokenWorld {
  cluster: ClusterWorld
  admin: Account
  mallory: Account
  ann: Account
  players: Player[]
  /** What the operator stored of a RoleAssignment in its row. */
  storedGranted(uid: string): Promise<unknown>
  /** All grants, from the audit. */
  grants(): Promise<Grant[]>
  /** Replaces the leading operator by one that also grants while the policies are not in force. */
  grantWithoutPolicies(): Promise<void>
  end(): Promise<void>
}

export interface Grant {
  roles: string[]
  approvers: string[]
  /** `uid/generation` */
  generationOf: string
}

/** A user of the realm who refreshes tokens repeatedly. */
export interface Player {
  user: string
  /** The roles in a new token. */
  roles(): Promise<string[]>
  /** As `roles`, after a new login if the session ended; no roles when no token can be had. */
  rolesIfAny(): Promise<string[]>
  /** The roles in the introspection of the last token. */
  introspected(): Promise<string[]>
}

export async function tokenWorld(names: readonly string[]): Promise<TokenWorld> {
  const cluster = await clusterWorld()
  try {
    const { admin } = cluster.plane
    await installRbac(admin)
    await admin.do('POST', '/api/v1/namespaces', { metadata: { name: HOME } })
    await makeRealm(cluster.author, names)
    const players = await Promise.all(names.map((name) => player(cluster, name)))
    const [mallory, ann] = [cluster.plane.user('mallory'), cluster.plane.user('ann')]
    let lenient: Part | undefined
    return {
      cluster,
      admin,
      mallory,
      ann,
      players,
      async storedGranted(uid) {
        const row = await findRoleAssignmentByUid(cluster.database.pool, uid)
        return row?.granted
      },
      async grants() {
        const { rows } = await cluster.database.pool.query<{ details: string }>(
          `select details from audit where action = 'roles_granted'`,
        )
        return rows.map(({ details }) => {
          const { roles, approvers, uid, grantedGeneration } = JSON.parse(details)
          return { roles, approvers, generationOf: `${uid}/${grantedGeneration}` }
        })
      },
      async grantWithoutPolicies() {
        await cluster.operator.stop()
        lenient = await startLenient(cluster)
        await until(async () => {
          if (!lenient?.output().includes('"msg":"this operator leads"')) throw new Error(lenient?.output())
        })
      },
      async end() {
        await lenient?.stop()
        await cluster.end()
      },
    }
  } catch (error) {
    await cluster.end()
    throw error
  }
}

/** Without `--require-approval-enforcement`. */
async function startLenient({ plane, database, url }: ClusterWorld): Promise<Part> {
  const account = await plane.serviceAccount(KEYRING_NAMESPACE, 'operator')
  recordSecrets(account.identity.token)
  const healthPort = await freePort()
  return startPart('operator', {
    healthPort,
    env: { REALMKEEPER_DATABASE_URL: database.url, REALMKEEPER_BASE_URL: url, REALMKEEPER_LOG_LEVEL: 'debug' },
    args: ['--listen-host=127.0.0.1', `--health-listen-port=${healthPort}`, `--kubeconfig=${account.kubeconfig}`],
  })
}

export const REALM_SPEC = {
  roles: [...GATED.filter((role) => !role.includes('svc')), HARMLESS].map((name) => ({ name })),
  // Defines the role `_svc_dob.selfdecrypt`.
  fieldEncryption: { fields: [{ name: 'dateOfBirth', tag: 'dob' }] },
  identityGovernance: { enabled: true, requiredApprovals: 1 },
  // The tests are about roles; everything else is as cheap as possible.
  tokens: { signingAlgorithm: 'EdDSA' },
  passwordHashing: { memoryKiB: 1024, iterations: 1 },
}

async function makeRealm(author: Account, users: readonly string[]): Promise<void> {
  const secret = (name: string, stringData: Record<string, string>): Promise<Stored> =>
    author.do('POST', `/api/v1/namespaces/${HOME}/secrets`, { metadata: { name }, stringData })
  const resource = (kind: string, name: string, spec: object): Promise<Stored> =>
    author.do('POST', `${API}/namespaces/${HOME}/${kind.toLowerCase()}s`, {
      apiVersion: 'realmkeeper.io/v1alpha1',
      kind,
      metadata: { name },
      spec: kind === 'Realm' ? spec : { realmRef: { name: HOME }, ...spec },
    })

  await resource('Realm', HOME, REALM_SPEC)
  await secret('shop-client', { client_secret: CLIENT.client_secret })
  const clientSecret = { secretRef: { name: 'shop-client', key: 'client_secret' } }
  await resource('Client', 'shop', { clientId: CLIENT.client_id, clientSecret })
  for (const user of users) {
    recordSecrets(`${user}-password-1`)
    await secret(user, { password: `${user}-password-1` })
    await resource('User', user, { username: user, passwordSecretRef: { name: user } })
  }
}

async function player(cluster: ClusterWorld, user: string): Promise<Player> {
  await cluster.untilReady('users', user)
  let token = ''
  let access = ''
  // No user has a role yet, but the session stores the requested scope.
  const login = (): Promise<Answer> => cluster.login(user, { scope: 'openid _svc_dob.selfdecrypt' })
  const refresh = (): Promise<Answer> =>
    cluster.post('/token', { ...CLIENT, grant_type: 'refresh_token', refresh_token: token })
  function rolesOf({ status, body }: Answer): string[] {
    if (status !== 200) throw new Error(`no token for ${user}: ${status} ${JSON.stringify(body)}`)
    token = body.refresh_token ?? ''
    access = body.access_token ?? ''
    return cluster.rolesIn(access)
  }
  await until(async () => rolesOf(await login()))

  return {
    user,
    roles: async () => rolesOf(await refresh()),
    async rolesIfAny() {
      const refreshed = await refresh()
      const answer = refreshed.status === 200 ? refreshed : await login()
      return answer.status === 200 ? rolesOf(answer) : []
    },
    async introspected() {
      const { body } = await cluster.post('/token/introspect', { ...CLIENT, token: access })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the documented members; the test fails on others
      return (body as { realm_access: { roles: string[] } }).realm_access.roles
    },
  }
}
