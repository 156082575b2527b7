import { findRoleAssignmentByUid } from '../../store/role_assignments.ts'
import { recordSecrets } from '../support/canary.ts'
import type { Account } from '../support/control_plane/account.ts'
import { freePort } from '../support/control_plane/child.ts'
import { CLIENT, clusterWorld, until } from '../end_to_end/cluster/cluster_world.ts'
import type { ClusterWorld } from '../end_to_end/cluster/cluster_world.ts'
import { startPart } from '../end_to_end/cluster/part.ts'
import type { Part } from '../end_to_end/cluster/part.ts'
import { KEYRING_NAMESPACE } from '../end_to_end/cluster/rights.ts'
import { GATED, HARMLESS } from './mallory.ts'
import { installRbac } from './rbac.ts'
import { API } from './world.ts'
import type { Stored } from './world.ts'

export const HOME = 'quickstart'

/** A governed realm with the operator and the server at work, and users who each have a session. */
export interface TokenWorld {
  cluster: ClusterWorld
  admin: Account
  mallory: Account
  ann: Account
  players: Player[]
  /** What the operator remembers of a RoleAssignment. */
  remembered(uid: string): Promise<unknown>
  /** All that was ever granted, as the audit has it. */
  grants(): Promise<Grant[]>
  /** Puts an operator in the place of the one that leads, which grants also while the policies do not act. */
  lowerTheGuard(): Promise<void>
  end(): Promise<void>
}

export interface Grant {
  roles: string[]
  approvers: string[]
  /** `uid/generation` */
  generationOf: string
}

/** A user of the realm who asks for a new token again and again. */
export interface Player {
  user: string
  /** The roles in a token made now. */
  roles(): Promise<string[]>
  /** What introspection tells of the last one. */
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
      async remembered(uid) {
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
      async lowerTheGuard() {
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

  await resource('Realm', HOME, {
    roles: [...GATED.filter((role) => !role.includes('svc')), HARMLESS].map((name) => ({ name })),
    // It brings `_svc_dob.selfdecrypt`.
    fieldEncryption: { fields: [{ name: 'dateOfBirth', tag: 'dob' }] },
    identityGovernance: { enabled: true, requiredApprovals: 1 },
    // What is tested here is who holds roles: the rest may be as cheap as it gets.
    tokens: { signingAlgorithm: 'EdDSA' },
    passwordHashing: { memoryKiB: 1024, iterations: 1 },
  })
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
  const first = await until(async () => {
    // Nobody holds a role, but the session remembers that it was asked for.
    const answer = await cluster.login(user, { scope: 'openid _svc_dob.selfdecrypt' })
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
    return answer.body
  })
  let token = first.refresh_token ?? ''
  let access = first.access_token ?? ''

  return {
    user,
    async roles() {
      const { status, body } = await cluster.post('/token', {
        ...CLIENT,
        grant_type: 'refresh_token',
        refresh_token: token,
      })
      if (status !== 200) throw new Error(`no token for ${user}: ${status} ${JSON.stringify(body)}`)
      token = body.refresh_token ?? ''
      access = body.access_token ?? ''
      return cluster.rolesIn(access)
    },
    async introspected() {
      const { body } = await cluster.post('/token/introspect', { ...CLIENT, token: access })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as documented; what it is not fails the test
      return (body as { realm_access: { roles: string[] } }).realm_access.roles
    },
  }
}
