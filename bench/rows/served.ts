import type { ChildProcess } from 'node:child_process'
import { MERGE_PATCH } from '../../test/support/control_plane/account.ts'
import { fieldCall, FIELD_SCOPE, introspectCall, loginCall, once, refreshCall } from '../calls.ts'
import { API, hasControlPlane, SECRETS, startBenchCluster } from '../cluster.ts'
import type { BenchCluster } from '../cluster.ts'
import { ownDatabase } from '../database.ts'
import { eventually, sleep } from '../eventually.ts'
import { startOperator } from '../operator.ts'
import { median, plain } from '../report.ts'
import type { Figure } from '../report.ts'
import { end, FIELD, PASSWORD, SECRET, startServer } from '../world.ts'
import type { BenchWorld } from '../world.ts'

const REALM = 'bench'
const ROLES = [`_svc_${FIELD.tag}.selfencrypt`, `_svc_${FIELD.tag}.selfdecrypt`]
const TIMES = 10
const WITHIN = 60

/**
 * How soon the server answers by what an API server was told, the operator between them: roles from the last needed
 * decision on, and after they ended; users and clients that were changed. Each the slowest of ten.
 */
export async function servedRows(world: BenchWorld): Promise<Figure[]> {
  if (!hasControlPlane('served')) return []
  const cluster = await startBenchCluster(world.directory)
  const children: ChildProcess[] = []
  try {
    const databaseUrl = await ownDatabase(world, 'bench_served')
    const args = [
      `--kubeconfig=${cluster.operator}`,
      `--license-keys=${cluster.licenseKeys}`,
      '--require-approval-enforcement',
      '--trust-existing-decisions',
    ]
    const operator = await startOperator(world, { args, databaseUrl })
    children.push(operator.child)
    await operator.untilReady()
    const server = await startServer({ databaseUrl, kubeconfig: cluster.server })
    children.push(server.child)
    await applyRealm(cluster)

    const watch = watchOf(cluster, server.port)
    const figures: Figure[] = []
    for (const [what, measure] of Object.entries(MEASURES)) {
      const seconds: number[] = []
      for (let time = 0; time < TIMES; time++) seconds.push(await measure(watch, time))
      const [slowest, middle] = [Math.max(...seconds), median(seconds)]
      const measured = `${middle.toFixed(2)}, ≤ ${slowest.toFixed(2)} s`
      figures.push(plain(what, measured, '< 2 s', slowest < 2))
    }
    return figures
  } finally {
    for (const child of children) await end(child)
    await cluster.plane.stop()
  }
}

/** What is changed, and the seconds until every answer follows. */
const MEASURES: Record<string, (watch: Watch, time: number) => Promise<number>> = {
  'role usable after the last decision': async (watch, time) => {
    const name = `usable-${time}`
    const session = await watch.logIn(1)
    await watch.request(name)
    await watch.approve(name)
    const seconds = await eventually(() => session.mayEncrypt(), { seconds: WITHIN, everyMillis: 10 })
    await watch.remove(name)
    await eventually(async () => !(await session.hasRoles()), { seconds: WITHIN })
    return seconds
  },
  'role gone after an edit': (watch, time) =>
    watch.untilGone(`edited-${time}`, (name) => watch.edit('roleassignments', name, { roles: ['reader'] })),
  'role gone after its deletion': (watch, time) => watch.untilGone(`deleted-${time}`, (name) => watch.remove(name)),
  'role gone after its expiry': (watch, time) =>
    // Whole seconds, as Kubernetes keeps them.
    watch.untilGone(`expiring-${time}`, (_name, expiresAt) => sleep(expiresAt.getTime() - Date.now()), {
      expiresAt: new Date(Math.ceil(Date.now() / 1000) * 1000 + 5_000),
    }),
  'user renamed': async (watch, time) => {
    const session = await watch.logIn(2)
    await watch.edit('users', 'user-2', { firstName: `Name ${time}` })
    return eventually(async () => (await session.userinfo()).given_name === `Name ${time}`, { seconds: WITHIN })
  },
  'user disabled': async (watch) => {
    const session = await watch.logIn(3)
    await watch.edit('users', 'user-3', { enabled: false })
    const seconds = await eventually(async () => (await session.status()) === 400, { seconds: WITHIN, everyMillis: 10 })
    await watch.edit('users', 'user-3', { enabled: true })
    await eventually(() => watch.canLogIn(3), { seconds: WITHIN })
    return seconds
  },
  'password changed': async (watch, time) => {
    const former = time === 0 ? PASSWORD : `password ${time - 1}`
    const session = await watch.logIn(4, former)
    await watch.setPassword(4, `password ${time}`)
    // Its sessions end with it. Trying the new one all the time would be taken for guessing.
    const seconds = await eventually(async () => (await session.status()) === 400, { seconds: WITHIN, everyMillis: 10 })
    if (!(await watch.canLogIn(4, `password ${time}`))) throw new Error('the new password is not served')
    return seconds
  },
  'client disabled': async (watch) => {
    await watch.edit('clients', 'shop', { enabled: false })
    const seconds = await eventually(async () => !(await watch.canLogIn(5)), { seconds: WITHIN, everyMillis: 10 })
    await watch.edit('clients', 'shop', { enabled: true })
    await eventually(() => watch.canLogIn(5), { seconds: WITHIN })
    return seconds
  },
  'user deleted': async (watch, time) => {
    const n = 10 + time
    const session = await watch.logIn(n)
    await watch.removeUser(n)
    return eventually(async () => (await session.status()) === 400, { seconds: WITHIN, everyMillis: 10 })
  },
}

type Watch = ReturnType<typeof watchOf>
type Change = (name: string, expiresAt: Date) => Promise<unknown>

/** Those who write on the API server, and sessions at the server. */
function watchOf({ plane }: BenchCluster, port: number) {
  const author = plane.user('gitops')
  const approver = plane.user('carol')
  const path = (plural: string, name = ''): string => `${API}/${plural}${name && `/${name}`}`

  async function token(call: Parameters<typeof once>[1]): Promise<Record<string, string>> {
    const { status, body } = await once(port, call)
    if (status !== 200) throw new Error(`${status} ${body.error}`)
    return body
  }

  async function logIn(user: number, password = PASSWORD) {
    let held = await token(loginCall(REALM, user, { password, scope: `${FIELD_SCOPE} profile` }))
    const access = (): string => held.access_token ?? ''
    const refresh = () => once(port, refreshCall(REALM, held.refresh_token ?? ''))
    const session = {
      access,
      /** What a refresh is answered with. */
      async status(): Promise<number> {
        const { status, body } = await refresh()
        if (status === 200) held = body
        return status
      },
      async userinfo(): Promise<Record<string, string>> {
        return token({
          method: 'GET',
          path: `/realms/${REALM}/protocol/openid-connect/userinfo`,
          headers: { Authorization: `Bearer ${access()}` },
        })
      },
      /** Whether a new token has the roles. */
      async hasRoles(): Promise<boolean> {
        held = await token(refreshCall(REALM, held.refresh_token ?? ''))
        const { realm_access } = JSON.parse(Buffer.from(access().split('.')[1] ?? '', 'base64url').toString())
        return ROLES.some((role) => realm_access?.roles.includes(role))
      },
      /** Whether a new token may encrypt. */
      async mayEncrypt(): Promise<boolean> {
        if (!(await session.hasRoles())) return false
        const value = { field: FIELD.name, value: '1990-04-01' }
        return (await once(port, fieldCall(REALM, 'encrypt', access(), value))).status === 200
      },
    }
    return session
  }

  const watch = {
    logIn,
    async canLogIn(user: number, password = PASSWORD): Promise<boolean> {
      return (await once(port, loginCall(REALM, user, { password }))).status === 200
    },
    async request(name: string, spec: object = {}, user = 'user-1'): Promise<void> {
      const subject = { kind: 'User', name: user }
      await author.do('POST', path('roleassignments'), {
        apiVersion: 'realmkeeper.io/v1alpha1',
        kind: 'RoleAssignment',
        metadata: { name },
        spec: { realmRef: { name: REALM }, subject, roles: ROLES, requestedBy: 'team', reason: 'measured', ...spec },
      })
      await watch.untilSaid(name, 'PendingApproval')
    },
    /** Resolves when `Ready` has this reason. */
    untilSaid: (name: string, reason: string) =>
      eventually(
        async () => {
          const { status } = await author.do('GET', path('roleassignments', name))
          const conditions: { type: string; reason: string }[] = status?.conditions ?? []
          return conditions.some((condition) => condition.type === 'Ready' && condition.reason === reason)
        },
        { seconds: WITHIN },
      ),
    async approve(name: string): Promise<void> {
      const { metadata } = await approver.do('GET', path('roleassignments', name))
      const seen = { observedGeneration: metadata.generation, observedUID: metadata.uid }
      const status = { approvals: [{ approver: 'carol', decision: 'Approved', ...seen }] }
      await approver.do('PATCH', `${path('roleassignments', name)}/status`, { status }, { contentType: MERGE_PATCH })
    },
    edit: (plural: string, name: string, spec: object) =>
      author.do('PATCH', path(plural, name), { spec }, { contentType: MERGE_PATCH }),
    remove: (name: string) => author.do('DELETE', path('roleassignments', name)),
    removeUser: (user: number) => author.do('DELETE', path('users', `user-${user}`)),
    setPassword: (user: number, password: string) =>
      author.do('PATCH', `${SECRETS}/user-${user}`, { stringData: { password } }, { contentType: MERGE_PATCH }),
    /** Seconds until new tokens lack roles that were granted, introspection of an old one does, and it decrypts no more. */
    async untilGone(name: string, change: Change, { expiresAt = new Date() }: { expiresAt?: Date } = {}) {
      const session = await logIn(1)
      const mayExpire = expiresAt.getTime() > Date.now()
      await watch.request(name, mayExpire ? { expiresAt: expiresAt.toISOString() } : {})
      await watch.approve(name)
      await eventually(() => session.mayEncrypt(), { seconds: WITHIN, everyMillis: 10 })
      const old = session.access()
      const { ciphertext } = await token(fieldCall(REALM, 'encrypt', old, { field: FIELD.name, value: '1990-04-01' }))
      const decrypt = fieldCall(REALM, 'decrypt', old, { field: FIELD.name, ciphertext })
      await change(name, expiresAt)
      const seconds = await eventually(
        async () => {
          const told = await once(port, introspectCall(REALM, old))
          if (ROLES.some((role) => JSON.stringify(told.body.realm_access).includes(role))) return false
          return (await once(port, decrypt)).status === 403 && !(await session.hasRoles())
        },
        { seconds: WITHIN, everyMillis: 10 },
      )
      // It may be gone already.
      await author.call('DELETE', path('roleassignments', name))
      return seconds
    },
  }
  return watch
}

/** A realm with a field, governance and a license, whose admin assignment is approved. */
async function applyRealm(cluster: BenchCluster): Promise<void> {
  const author = cluster.plane.user('gitops')
  const post = (kind: string, name: string, spec: object): Promise<unknown> =>
    author.do('POST', `${API}/${kind.toLowerCase()}s`, {
      apiVersion: 'realmkeeper.io/v1alpha1',
      kind,
      metadata: { name },
      spec,
    })
  const secret = (name: string, stringData: object): Promise<unknown> =>
    author.do('POST', SECRETS, { metadata: { name }, stringData })

  await secret('license', { license: await cluster.issueLicense(REALM) })
  await post('Realm', REALM, {
    roles: [{ name: 'reader' }],
    identityGovernance: { enabled: true },
    identityProvider: { alias: 'local', licenseSecretRef: { name: 'license' } },
    fieldEncryption: { fields: [{ ...FIELD }] },
  })
  const realmRef = { name: REALM }
  await secret('shop', { client_secret: SECRET })
  await post('Client', 'shop', {
    realmRef,
    clientId: 'shop',
    type: 'Confidential',
    clientSecret: { secretRef: { name: 'shop', key: 'client_secret' } },
  })
  for (let n = 0; n < 10 + TIMES; n++) {
    await secret(`user-${n}`, { password: PASSWORD })
    await post('User', `user-${n}`, { realmRef, username: `user-${n}`, passwordSecretRef: { name: `user-${n}` } })
  }
  const watch = watchOf(cluster, 0)
  await watch.request('admin', { roles: ['svc-realm-admin'] }, 'user-0')
  await eventually(() => isEnforced(cluster), { seconds: WITHIN })
  await watch.approve('admin')
  await watch.untilSaid('admin', 'Granted')
}

async function isEnforced({ plane }: BenchCluster): Promise<boolean> {
  const { status } = await plane.admin.do('GET', `${API}/realms/${REALM}`)
  const conditions: { type: string; status: string }[] = status?.conditions ?? []
  return conditions.some(({ type, status }) => type === 'ApprovalEnforced' && status === 'True')
}
