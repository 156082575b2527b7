import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { ListenError } from '../../process/listen.ts'
import { createLog } from '../../process/log.ts'
import type { ServerConfig } from '../../process/settings.ts'
import { runServer } from '../../server/main.ts'
import type { ClientRow } from '../../store/clients.ts'
import type { RealmRow } from '../../store/realms.ts'
import type { UserRow } from '../../store/users.ts'
import { recordBody, recordLogLine } from './canary.ts'
import { testDatabase } from './postgres.ts'
import type { TestDatabase } from './postgres.ts'
import { freePort, testWorld } from './world.ts'
import type { ClientOverrides, TestWorld } from './world.ts'

export interface TestServerOptions {
  config?: Partial<ServerConfig>
  now?: () => Date
  /** A database to share with another server; by default a new one, dropped at the end. */
  database?: TestDatabase
  /** Keyrings to share with another server. */
  keyringDir?: string
  /** False: `startServer` does not wait until the server has read its rows. */
  waitUntilWarm?: false
  /** Writes rows before the server starts. */
  prepare?: (world: TestWorld) => Promise<unknown>
}

export interface TestAnswer {
  status: number
  headers: Headers
  text: string
  /** The parsed JSON body; undefined when there is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects
  body: any
}

export interface TestServer extends TestWorld {
  /** `http://127.0.0.1:<port>`, also the base of issuers. */
  url: string
  healthUrl: string
  /** Lines of the log so far. */
  log: string[]
  /** GET, or POST when there is a form or a json body. `path` is absolute, or below `{oidc}` of the realm acme. */
  request(path: string, options?: TestRequest): Promise<TestAnswer>
  /** The token endpoint of the realm acme, with the client `shop` unless the form says otherwise. */
  token(form: Record<string, string | undefined>, options?: TestRequest): Promise<TestAnswer>
  stop(): Promise<void>
}

export interface TestRequest {
  method?: string
  form?: Record<string, string | undefined>
  /** Sent as it is. */
  body?: string | Uint8Array
  json?: unknown
  headers?: Record<string, string>
}

export const SHOP_SECRET = 'shop-secret-for-tests'
export const ALICE_PASSWORD = 'alice-password-1'

/** Realm acme, confidential client shop, public client app, user alice. */
export async function addAcme(
  world: TestWorld,
  { realm, client, user }: { realm?: Partial<RealmRow>; client?: ClientOverrides; user?: Partial<UserRow> } = {},
): Promise<{ realm: RealmRow; shop: ClientRow; app: ClientRow; alice: UserRow }> {
  return {
    realm: await world.addRealm(realm),
    shop: await world.addClient({ clientId: 'shop', ...client }, SHOP_SECRET),
    app: await world.addClient({ clientId: 'app' }),
    alice: await world.addUser(
      { username: 'alice', email: 'alice@example.test', firstName: 'Alice', lastName: 'Ames', ...user },
      ALICE_PASSWORD,
    ),
  }
}

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { now = () => new Date() } = options
  const database = options.database ?? (await testDatabase())
  const keyringDir = options.keyringDir ?? (await mkdtemp(`${tmpdir()}/realmkeeper-keyrings-`))
  const world = testWorld(database, keyringDir)
  await (options.prepare ?? addAcme)(world)

  const log: string[] = []
  const takeLine = (line: string): void => {
    log.push(line)
    recordLogLine('server', line)
  }
  const { running, url } = await onFreePort((port) =>
    runServer(configured(port, { database, keyringDir, ...options }), {
      now,
      log: createLog({ name: 'server', level: 'debug', destination: { write: takeLine } }),
    }),
  )
  if (options.waitUntilWarm !== false) await running.warm

  const request: TestServer['request'] = (path, { method, form, body, json, headers } = {}) => {
    recordBody(json)
    const content =
      body ?? (json === undefined ? form && new URLSearchParams(given(form)).toString() : JSON.stringify(json))
    const type = form ? FORM : json === undefined ? undefined : 'application/json'
    return send(`${url}${path.startsWith('/') ? path : `/auth/realms/acme/protocol/openid-connect/${path}`}`, {
      method: method ?? (content === undefined ? 'GET' : 'POST'),
      headers: { ...(type !== undefined && { 'content-type': type }), ...headers },
      ...(content !== undefined && { body: content }),
    })
  }
  return {
    ...world,
    url,
    healthUrl: `http://127.0.0.1:${running.healthPort}`,
    log,
    request,
    token: (form, more) =>
      request('token', { form: { client_id: 'shop', client_secret: SHOP_SECRET, ...form }, ...more }),
    async stop() {
      await running.stop()
      if (!options.database) await database.drop()
      if (options.keyringDir === undefined) await rm(keyringDir, { recursive: true, force: true })
    },
  }
}

/** Tries several ports, because another process may take a free one first. */
async function onFreePort<Running>(
  start: (port: number) => Promise<Running>,
): Promise<{ running: Running; url: string }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    try {
      return { running: await start(port), url: `http://127.0.0.1:${port}` }
    } catch (error) {
      if (!(error instanceof ListenError) || attempt === 5) throw error
    }
  }
}

function configured(
  port: number,
  { database, keyringDir, config }: { database: TestDatabase; keyringDir: string; config?: Partial<ServerConfig> },
): ServerConfig {
  return {
    databaseUrl: database.url,
    databaseConnections: 10,
    baseUrl: `http://127.0.0.1:${port}`,
    listenHost: '127.0.0.1',
    listenPort: port,
    healthPort: 0,
    trustedProxies: [],
    failedLoginsPerAddress: 0,
    failedLoginsPerClient: 0,
    failedDecryptsPerSubject: 60,
    keyringNamespace: 'realmkeeper',
    keyringDir,
    kubeconfig: undefined,
    watchStallSeconds: 150,
    shutdownSeconds: 5,
    logLevel: 'debug',
    ...config,
  }
}

/** The form of a login of alice. */
export const ALICE = { grant_type: 'password', username: 'alice', password: ALICE_PASSWORD, scope: 'openid' } as const

const FORM = 'application/x-www-form-urlencoded'

function given(form: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(form).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

async function send(url: string, init: RequestInit): Promise<TestAnswer> {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const text = await response.text()
  const body = text === '' ? undefined : JSON.parse(text)
  recordBody(body)
  return { status: response.status, headers: response.headers, text, body }
}
