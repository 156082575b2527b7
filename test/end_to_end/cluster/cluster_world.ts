import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { recordBody, recordKeyring, recordSecrets } from '../../support/canary.ts'
import { realmkeeper } from '../../support/command.ts'
import { startControlPlane } from '../../support/control_plane.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { MERGE_PATCH } from '../../support/control_plane/account.ts'
import { freePort } from '../../support/control_plane/child.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { ROOT } from '../../support/source_files.ts'
import { startPart } from './part.ts'
import type { Part } from './part.ts'
import { giveRights, KEYRING_NAMESPACE } from './rights.ts'

export interface Answer {
  status: number
  // The members of a JSON answer that tests read; they assert on each.
  body: Record<string, unknown> & { access_token?: string; refresh_token?: string; ciphertext?: string }
}

interface ClusterObject {
  metadata: { name: string; uid: string; generation: number; resourceVersion: string; finalizers?: string[] }
  spec: Record<string, unknown>
  status?: {
    conditions?: { type: string; status: string; reason: string; message: string; observedGeneration?: number }[]
    [member: string]: unknown
  }
}

/** A cluster with operator and server as processes, which use tokens of ServiceAccounts. */
export interface ClusterWorld {
  plane: ControlPlane
  database: TestDatabase
  /** Writes resources, and requests roles for others. */
  author: Account
  approver: Account
  otherApprover: Account
  url: string
  operator: Part
  server: Part
  startOperator(options?: { args?: string[]; as?: Account }): Promise<Part>
  startServer(): Promise<Part>
  /** The quickstart with its license, applied by the author. */
  applyQuickstart(): Promise<void>
  find(plural: string, name: string, namespace?: string): Promise<ClusterObject | undefined>
  /** Resolves when `Ready` of the present generation has this status and, when given, this reason. */
  untilReady(plural: string, name: string, status?: string, reason?: string, namespace?: string): Promise<ClusterObject>
  /** `realmkeeper approve` */
  approve(name: string, as?: Account, namespace?: string): Promise<void>
  patch(plural: string, name: string, patch: object, namespace?: string): Promise<void>
  login(user: string, form?: Record<string, string>, password?: string): Promise<Answer>
  post(path: string, form: Record<string, string>): Promise<Answer>
  field(operation: 'encrypt' | 'decrypt', token: string | undefined, body: object): Promise<Answer>
  rolesIn(token: string | undefined): string[]
  end(): Promise<void>
}

/** The Lease of the operator. A test deletes it so that a new operator need not wait until it expires. */
export const LEASE_PATH = '/apis/coordination.k8s.io/v1/namespaces/realmkeeper/leases/realmkeeper-operator'
export const CLIENT = { client_id: 'shop', client_secret: 'shop-secret-for-development' }
export const FIELD_SCOPE = 'openid _svc_dob.selfencrypt _svc_dob.selfdecrypt'
export const FIELD_ROLES = ['_svc_dob.selfdecrypt', '_svc_dob.selfencrypt']
// One test may contain several deadlines.
vi.setConfig({ testTimeout: 240_000 })

const QUICKSTART = join(ROOT, 'examples/quickstart')
const passwordOf = (user: string): string => `${user}-password-1`

/** Repeats the attempt until it does not throw. The deadline leaves room for a busy machine. */
export function until<Result>(attempt: () => Promise<Result> | Result, seconds = 120): Promise<Result> {
  return vi.waitFor(async () => attempt(), { timeout: seconds * 1000, interval: 50 })
}

export interface ClusterWorldOptions {
  operatorArgs?: string[]
  /** Environment variables of every process. */
  env?: Record<string, string>
  /** Default: a new database without tables. It is dropped with the world. */
  database?: TestDatabase
  /** Of the processes: see PartOptions. */
  within?: Record<'operator' | 'server', string[]>
  /** Returns the account that a process uses instead of this one, for example through a proxy. */
  through?: (plane: ControlPlane, account: Account) => Promise<Account>
}

/** Starts everything. When it resolves, the operator leads and the server is ready. */
export async function clusterWorld(options: ClusterWorldOptions = {}): Promise<ClusterWorld> {
  const { through = async (_plane, account) => account } = options
  const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-cluster-'))
  const [plane, database] = await Promise.all([
    startControlPlane({ controllers: true }),
    options.database ?? testDatabase({ migrated: false }),
  ])
  const { admin } = plane
  recordSecrets(CLIENT.client_secret, passwordOf('alice'), passwordOf('bob'))
  await admin.do('POST', '/api/v1/namespaces', { metadata: { name: KEYRING_NAMESPACE } })
  await giveRights(plane)
  await plane.kubectl(['apply', '-f', 'crds/policies'])
  const accountOfProcess = async (name: string): Promise<Account> => {
    const account = await plane.serviceAccount(KEYRING_NAMESPACE, name)
    recordSecrets(account.identity.token)
    return through(plane, account)
  }
  const operatorAccount = await accountOfProcess('operator')
  const serverAccount = await accountOfProcess('server')

  const licenseKey = join(folder, 'license_key.json')
  const licenseKeys = join(folder, 'license_keys.json')
  const { stdout } = await realmkeeper(['license', 'new-key', licenseKey])
  writeFileSync(licenseKeys, stdout)

  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const oidc = `${url}/auth/realms/quickstart/protocol/openid-connect`
  const common = {
    REALMKEEPER_DATABASE_URL: database.url,
    REALMKEEPER_BASE_URL: url,
    REALMKEEPER_LOG_LEVEL: 'debug',
    ...options.env,
  }
  const parts: Part[] = []

  async function startOperator({ args = [], as = operatorAccount }: { args?: string[]; as?: Account } = {}) {
    const healthPort = await freePort()
    const part = startPart('operator', {
      healthPort,
      env: common,
      within: options.within?.operator,
      args: [
        '--listen-host=127.0.0.1',
        `--health-listen-port=${healthPort}`,
        `--kubeconfig=${as.kubeconfig}`,
        `--license-keys=${licenseKeys}`,
        '--require-approval-enforcement',
        ...args,
      ],
    })
    parts.push(part)
    return part
  }

  async function startServer(): Promise<Part> {
    const healthPort = await freePort()
    const part = startPart('server', {
      healthPort,
      env: common,
      within: options.within?.server,
      args: [
        '--listen-host=127.0.0.1',
        `--listen-port=${port}`,
        `--health-listen-port=${healthPort}`,
        `--kubeconfig=${serverAccount.kubeconfig}`,
      ],
    })
    parts.push(part)
    return part
  }

  async function untilPartReady(part: Part): Promise<void> {
    await until(async () => {
      if (!part.running()) throw new Error(`it ended:\n${part.output()}`)
      if (!(await part.isReady())) throw new Error(`it is not ready:\n${part.output().slice(-3_000)}`)
    })
  }

  async function send(target: string, headers: Record<string, string>, body: string): Promise<Answer> {
    try {
      const response = await fetch(target, { method: 'POST', headers, body, signal: AbortSignal.timeout(15_000) })
      const text = await response.text()
      const answer: Answer['body'] = text ? JSON.parse(text) : {}
      recordBody(answer)
      return { status: response.status, body: answer }
    } catch (error) {
      // Status 0 stands for a connection that was refused or cut.
      return { status: 0, body: { error: String(error) } }
    }
  }

  const path = (plural: string, name: string, namespace: string): string =>
    `/apis/realmkeeper.io/v1alpha1/namespaces/${namespace}/${plural}/${name}`

  const world: ClusterWorld = {
    plane,
    database,
    author: plane.user('gitops'),
    approver: plane.user('carol'),
    otherApprover: plane.user('dave'),
    url,
    // The first operator finds an empty record of policies, as in a new cluster.
    operator: await startOperator({ args: ['--trust-existing-decisions', ...(options.operatorArgs ?? [])] }),
    server: await startServer(),
    startOperator,
    startServer,

    async applyQuickstart() {
      const { stdout: license } = await realmkeeper(['license', 'issue', '--realm=quickstart', `--key=${licenseKey}`])
      recordSecrets(license.trim())
      await plane.kubectl(['apply', '-f', `${QUICKSTART}/01_namespace.yaml`], { as: world.author })
      await plane.kubectl(
        [
          'create',
          'secret',
          'generic',
          'quickstart-license',
          '-n=quickstart',
          `--from-literal=license=${license.trim()}`,
        ],
        { as: world.author },
      )
      await plane.kubectl(['apply', '-f', QUICKSTART], { as: world.author })
    },
    async find(plural, name, namespace = 'quickstart') {
      const { status, body } = await admin.call('GET', path(plural, name, namespace))
      return status === 200 ? body : undefined
    },
    untilReady: (plural, name, status = 'True', reason, namespace = 'quickstart') =>
      until(async () => {
        const object = await world.find(plural, name, namespace)
        const ready = object?.status?.conditions?.find(({ type }) => type === 'Ready')
        const isMet =
          ready?.status === status &&
          ready.observedGeneration === object?.metadata.generation &&
          (reason === undefined || ready.reason === reason)
        if (object && isMet) return object
        const lines = world.operator.output().split('\n').slice(-15).join('\n')
        throw new Error(`${plural}/${name}: ${JSON.stringify(ready)}; log of the operator:\n${lines}`)
      }),
    async approve(name, as = world.approver, namespace = 'quickstart') {
      const args = ['approve', name, '--yes', '--no-wait', `--namespace=${namespace}`, `--kubeconfig=${as.kubeconfig}`]
      const { code, stderr } = await realmkeeper(args)
      if (code !== 0) throw new Error(`approve ${name} ended with ${code}: ${stderr}`)
    },
    async patch(plural, name, patch, namespace = 'quickstart') {
      await world.author.do('PATCH', path(plural, name, namespace), patch, { contentType: MERGE_PATCH })
    },
    login: (user, form = {}, password = passwordOf(user)) =>
      world.post('/token', { grant_type: 'password', ...CLIENT, username: user, password, ...form }),
    post: (target, form) =>
      send(
        `${oidc}${target}`,
        { 'content-type': 'application/x-www-form-urlencoded' },
        new URLSearchParams(form).toString(),
      ),
    field(operation, token, body) {
      recordBody(body)
      return send(
        `${oidc}/${operation}`,
        { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        JSON.stringify(body),
      )
    },
    rolesIn(token = '') {
      const claims: { realm_access?: { roles: string[] } } = JSON.parse(
        Buffer.from(token.split('.')[1] ?? '', 'base64url').toString() || '{}',
      )
      return (claims.realm_access?.roles ?? []).toSorted()
    },
    async end() {
      await Promise.all(parts.filter((part) => part.running()).map((part) => part.stop()))
      await recordKeyrings(admin)
      await plane.stop()
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  try {
    await untilPartReady(world.operator)
    await untilPartReady(world.server)
  } catch (error) {
    await world.end()
    throw error
  }
  return world
}

async function recordKeyrings(admin: Account): Promise<void> {
  const answer = await admin.call('GET', `/api/v1/namespaces/${KEYRING_NAMESPACE}/secrets`).catch(() => undefined)
  for (const { data } of answer?.body.items ?? []) {
    if (data?.['keyring.json']) recordKeyring(JSON.parse(Buffer.from(data['keyring.json'], 'base64').toString()))
  }
}

/** The objects of the quickstart: plural of the kind, and name. */
export function quickstartObjects(): [plural: string, name: string][] {
  const documents = globSync('*.yaml', { cwd: QUICKSTART })
    .toSorted()
    .flatMap((file) => parseAllDocuments(readFileSync(join(QUICKSTART, file), 'utf8')).map((each) => each.toJS()))
  return documents
    .filter(({ apiVersion }) => String(apiVersion).startsWith('realmkeeper.io/'))
    .map(({ kind, metadata }): [string, string] => [`${String(kind).toLowerCase()}s`, metadata.name])
}
