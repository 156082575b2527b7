import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import argon2 from 'argon2'
import { createLog } from '../../process/log.ts'
import type { ServerConfig } from '../../process/config.ts'
import { runServer } from '../../server/main.ts'
import { noteChange } from '../../store/changes.ts'
import { hashClientSecret } from '../../store/client_secret.ts'
import { upsertClient } from '../../store/clients.ts'
import type { ClientRow } from '../../store/clients.ts'
import { inTransaction } from '../../store/db.ts'
import { recordKeyVersions } from '../../store/key_versions.ts'
import { serializeKeyring } from '../../store/keyring/keyring.ts'
import type { Keyring } from '../../store/keyring/keyring.ts'
import { upsertRealm } from '../../store/realms.ts'
import type { PasswordHashing, RealmRow } from '../../store/realms.ts'
import { replaceGrantedRoles } from '../../store/role_assignments.ts'
import { upsertUser } from '../../store/users.ts'
import type { UserRow } from '../../store/users.ts'
import { testDatabase } from './postgres.ts'
import type { TestDatabase } from './postgres.ts'
import { realmKeyring } from './realm_keyring.ts'
import { clientRow, realmRow, userRow } from './rows.ts'

/** Cheap on purpose: what is tested is not how long a hash takes. */
export const QUICK_HASHING: PasswordHashing = { memoryKiB: 1024, iterations: 1, parallelism: 1 }

export interface TestServerOptions {
  config?: Partial<ServerConfig>
  now?: () => Date
  /** A database to share with another server; otherwise one of its own, dropped at the end. */
  database?: TestDatabase
  /** Keyrings to share with another server. */
  keyringDir?: string
  /** Rows to be there before the server starts. */
  prepare?: (world: TestWorld) => Promise<unknown>
}

/** Rows and keyrings, written as the operator writes them. */
export interface TestWorld {
  database: TestDatabase
  keyringDir: string
  /** A realm with its keyring; `keyring: null` writes none. */
  addRealm(row?: Partial<RealmRow>, keyring?: Keyring | null): Promise<RealmRow>
  /** A client; with a secret it is confidential. */
  addClient(row?: Partial<Omit<ClientRow, 'settings'>> & ClientOverrides, secret?: string): Promise<ClientRow>
  addUser(row?: Partial<UserRow>, password?: string): Promise<UserRow>
  /** Grants roles to a subject, or to the realm's default group (`everybody`); in place of what it was granted before. */
  grant(realm: string, subject: string, roles: string[], expiresAt?: Date): Promise<void>
  writeKeyring(keyring: Keyring, place?: { namespace: string; name: string }): Promise<void>
}

interface ClientOverrides {
  settings?: Partial<ClientRow['settings']>
}

export interface TestAnswer {
  status: number
  headers: Headers
  text: string
  /** The parsed JSON body; undefined when there is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks at what it expects
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
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const config: ServerConfig = {
    databaseUrl: database.url,
    databaseConnections: 10,
    baseUrl: url,
    listenHost: '127.0.0.1',
    listenPort: port,
    healthPort: 0,
    trustedProxies: [],
    failedLoginsPerAddress: 0,
    failedLoginsPerClient: 0,
    failedDecryptsPerSubject: 60,
    keyringNamespace: 'realmkeeper',
    keyringDir,
    shutdownSeconds: 5,
    logLevel: 'debug',
    ...options.config,
  }
  const running = await runServer(config, {
    now,
    log: createLog({ name: 'server', level: config.logLevel, destination: { write: (line) => void log.push(line) } }),
  })
  await running.warm

  const request: TestServer['request'] = (path, { method, form, body, json, headers } = {}) => {
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
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on TCP
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export function testWorld(database: TestDatabase, keyringDir: string): TestWorld {
  const { pool } = database
  const world: TestWorld = {
    database,
    keyringDir,
    async addRealm(given = {}, keyring) {
      const row = realmRow({ passwordHashing: QUICK_HASHING, ...given })
      if (keyring !== null) {
        const written = keyring ?? (await realmKeyring({ realm: row.realm }))
        await recordKeyVersions(pool, row.realm, written.encryption, new Date())
        await world.writeKeyring(written, { namespace: row.keyringNamespace, name: row.keyringName })
      }
      await inTransaction(pool, async (db) => {
        await upsertRealm(db, row)
        await noteChange(db, { realm: row.realm, kind: 'realm', key: row.realm }, new Date())
      })
      return row
    },
    async addClient({ settings, ...given } = {}, secret) {
      const base = clientRow()
      const row = { ...base, name: given.clientId ?? base.name, ...given, settings: { ...base.settings, ...settings } }
      if (secret !== undefined) {
        const { salt, hash } = hashClientSecret(secret)
        Object.assign(row, { type: 'Confidential', secretSalt: salt, secretHash: hash, ...given })
      }
      await inTransaction(pool, async (db) => {
        if (!(await upsertClient(db, row))) throw new Error(`client ${row.clientId} belongs to another resource`)
        await noteChange(db, { realm: row.realm, kind: 'client', key: row.clientId }, new Date())
      })
      return row
    },
    async addUser(given = {}, password) {
      const row = userRow({
        ...(password !== undefined && {
          passwordHash: await hashPassword(password, QUICK_HASHING),
          passwordSource: 'test',
        }),
        ...given,
      })
      const saved = await upsertUser(pool, row)
      if (saved !== 'written') throw new Error(`user ${row.username}: ${saved}`)
      return row
    },
    async grant(realm, subject, roles, expiresAt) {
      const to = subject === 'everybody' ? `default-roles-${realm}` : subject
      await inTransaction(pool, (db) =>
        replaceGrantedRoles(
          db,
          realm,
          `assignment-of-${to}`,
          { kind: subject === 'everybody' ? 'Group' : 'User', subject: to },
          roles.map((role) => ({ role, expiresAt: expiresAt ?? null })),
        ),
      )
    },
    async writeKeyring(
      keyring,
      { namespace, name } = { namespace: 'realmkeeper', name: `realm-${keyring.realm}-keyring` },
    ) {
      await mkdir(`${keyringDir}/${namespace}`, { recursive: true })
      const file = `${keyringDir}/${namespace}/${name}.json`
      await writeFile(`${file}.new`, keyringSecret(name, namespace, serializeKeyring(keyring)))
      await rename(`${file}.new`, file)
    },
  }
  return world
}

/** A Secret as the operator writes it. */
export function keyringSecret(name: string, namespace: string, bytes: Buffer): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: { 'realmkeeper.io/keyring': 'true' } },
    type: 'Opaque',
    data: { 'keyring.json': bytes.toString('base64') },
  })
}

export function hashPassword(
  password: string,
  { memoryKiB, iterations, parallelism }: PasswordHashing,
): Promise<string> {
  return argon2.hash(password.normalize('NFC'), {
    type: argon2.argon2id,
    memoryCost: memoryKiB,
    timeCost: iterations,
    parallelism,
    hashLength: 32,
  })
}
