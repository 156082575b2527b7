import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Pool } from 'pg'
import { startEmbeddedPostgres } from '../cli/dev/embedded_postgres.ts'
import { createPool } from '../store/db.ts'
import { migrate } from '../store/schema/migrate.ts'
import { upsertUser } from '../store/users.ts'
import { realmKeyring } from '../test/support/realm_keyring.ts'
import { realmRow, userRow } from '../test/support/rows.ts'
import { freePort, hashPassword, testWorld } from '../test/support/world.ts'

/** Real processes: PostgreSQL, the server, and the floor of the server. */
export interface BenchWorld {
  directory: string
  databaseUrl: string
  pool: Pool
  serverPort: number
  floorPort: number
  /** Of the server process. */
  serverPid: number
  /** Duration of one round of one side, in seconds. */
  duration: number
  rounds: number
  remove(): Promise<void>
}

export const REALMS = { RS256: 'bench-rs256', ES256: 'bench-es256' } as const
export const USERS = 200
export const PASSWORD = 'correct horse battery staple'
export const SECRET = 'bench-secret-0123456789'
export const HASHING = { memoryKiB: 7168, iterations: 5, parallelism: 1 }
export const FIELD = { name: 'dateOfBirth', tag: 'dob' }
const ROOT = fileURLToPath(new URL('..', import.meta.url))

export async function startBenchWorld(options: { duration: number; rounds: number }): Promise<BenchWorld> {
  const directory = mkdtempSync(`${tmpdir()}/realmkeeper-bench-`)
  chmodSync(directory, 0o711)
  // As in `dev` and in production: every commit reaches the disk.
  const postgres = await startEmbeddedPostgres({ directory: `${directory}/postgres` })
  await migrate(postgres.url)
  const pool = createPool({ connectionString: postgres.url, applicationName: 'bench' })
  const keyringDir = `${directory}/keyrings`
  await addRows(pool, postgres.url, keyringDir)

  const floor = await startFloor(postgres.url)
  const server = await startServer({ databaseUrl: postgres.url, keyringDir, cache: `${directory}/cache` })
  return {
    ...options,
    directory,
    databaseUrl: postgres.url,
    pool,
    serverPort: server.port,
    serverPid: server.child.pid ?? 0,
    floorPort: floor.port,
    async remove() {
      await end(server.child)
      await end(floor.child)
      await pool.end()
      await postgres.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function addRows(pool: Pool, url: string, keyringDir: string): Promise<void> {
  const world = testWorld({ url, pool, drop: async () => {} }, keyringDir)
  const passwordHash = await hashPassword(PASSWORD, HASHING)
  for (const algorithm of ['RS256', 'ES256'] as const) {
    const realm = REALMS[algorithm]
    const row = realmRow({
      realm,
      passwordHashing: HASHING,
      fields: [{ ...FIELD, binding: 'Realm', maxValueBytes: 4096 }],
      encryption: { missing: [] },
    })
    await world.addRealm(
      { ...row, tokens: { ...row.tokens, signingAlgorithm: algorithm, accessTokenLifetimeSeconds: 1800 } },
      await realmKeyring({ realm, algorithms: [algorithm] }),
    )
    await world.addClient({ realm, clientId: 'shop', settings: { accessTokenLifetimeSeconds: 1800 } }, SECRET)
    for (let n = 0; n < USERS; n++) {
      const uid = randomUUID()
      await upsertUser(
        pool,
        userRow({
          realm,
          subject: uid,
          resourceUid: uid,
          username: `user-${n}`,
          passwordHash,
          email: `user-${n}@example.com`,
        }),
      )
    }
    await world.grant(realm, 'everybody', [`_svc_${FIELD.tag}.selfencrypt`, `_svc_${FIELD.tag}.selfdecrypt`])
  }
}

async function startFloor(databaseUrl: string): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(process.execPath, [`${ROOT}bench/floor/server.ts`, databaseUrl, '0'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const { port } = await new Promise<{ port: number }>((resolve) => child.once('message', resolve as never))
  return { child, port }
}

/** Starts a server process. Resolves when it is ready; `seconds` is the duration of the start. */
export async function startServer(options: {
  databaseUrl: string
  /** Source of the keyrings: a folder, or an API server. */
  keyringDir?: string
  kubeconfig?: string
  cache?: string
  /** Folder of another checkout whose server is started. */
  checkout?: string
}): Promise<{ child: ChildProcess; port: number; seconds: number }> {
  const [port, healthPort] = [await freePort(), await freePort()]
  const started = performance.now()
  const child = spawn(process.execPath, [join(options.checkout ?? ROOT, 'cli/realmkeeper.ts'), 'server'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      // As in the chart: with its memory limit, Node chooses this heap.
      NODE_OPTIONS: '--max-semi-space-size=8 --max-old-space-size=256',
      REALMKEEPER_DATABASE_URL: options.databaseUrl,
      REALMKEEPER_BASE_URL: `http://localhost:${port}`,
      REALMKEEPER_LISTEN_HOST: '127.0.0.1',
      REALMKEEPER_LISTEN_PORT: `${port}`,
      REALMKEEPER_HEALTH_LISTEN_PORT: `${healthPort}`,
      ...(options.keyringDir !== undefined && { REALMKEEPER_KEYRING_DIR: options.keyringDir }),
      ...(options.kubeconfig !== undefined && { REALMKEEPER_KUBECONFIG: options.kubeconfig }),
      // The benchmark excludes the cost of log lines.
      REALMKEEPER_LOG_LEVEL: 'error',
      // Limits would refuse the load.
      REALMKEEPER_FAILED_LOGINS_PER_CLIENT: '0',
      REALMKEEPER_FAILED_LOGINS_PER_ADDRESS: '0',
      REALMKEEPER_FAILED_DECRYPTS_PER_SUBJECT: '0',
      ...(options.cache !== undefined && { NODE_COMPILE_CACHE: options.cache }),
    },
  })
  await ready(healthPort, child)
  return { child, port, seconds: (performance.now() - started) / 1000 }
}

export async function ready(healthPort: number, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + 60_000
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`the process ended with ${child.exitCode} before it was ready`)
    const status = await fetch(`http://127.0.0.1:${healthPort}/readyz`).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('the process was not ready within 60 s')
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await exited
}

/** Resident set of a process in MB. */
export const residentMegabytes = (pid: number): number => memory(pid, 'VmRSS')

/** Peak resident set of a process in MB. */
export const peakMegabytes = (pid: number): number => memory(pid, 'VmHWM')

function memory(pid: number, what: string): number {
  const kilobytes = new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) / 1024
}
