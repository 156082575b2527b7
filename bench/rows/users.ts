import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freePort } from '../../test/support/world.ts'
import type { Figure } from '../report.ts'
import { end, ready, residentMegabytes } from '../world.ts'
import type { BenchWorld } from '../world.ts'
import { HASHES_AT_A_TIME, rawHashRate } from './login.ts'

const USERS = 10_000
const FILES = 100
const COMMAND = fileURLToPath(new URL('../../cli/realmkeeper.ts', import.meta.url))

/**
 * 10,000 Users from manifests, beside the time that their password hashes take on all cores; then a warm restart, a
 * change of 100 of them, and what the operator holds.
 */
export async function userRows(world: BenchWorld): Promise<Figure[]> {
  const dir = `${world.directory}/manifests`
  const stateDir = `${world.directory}/state`
  mkdirSync(dir, { recursive: true })
  writeFileSync(`${dir}/realm.yaml`, REALM)
  const perFile = USERS / FILES
  for (let file = 0; file < FILES; file++)
    writeFileSync(fileName(dir, file), usersFile(file * perFile, perFile, 'Adams'))

  const url = await ownDatabase(world)
  const hashSeconds = USERS / (await rawHashRate(Math.max(5, world.duration), HASHES_AT_A_TIME))
  const first = await operatorUntil(world, { dir, stateDir, url }, () => count(url, 'password_hash is not null', USERS))
  const warm = await restart(world, { dir, stateDir, url })
  return [
    {
      row: `${USERS} Users`,
      measured: `${first.seconds.toFixed(1)} s`,
      floor: `${hashSeconds.toFixed(1)} s of hashes`,
      ratio: first.seconds / hashSeconds,
      wanted: '≤ 130 %',
      holds: first.seconds / hashSeconds <= 1.3,
    },
    {
      row: 'warm restart, nothing changed',
      measured: `${warm.seconds.toFixed(1)} s`,
      floor: '',
      wanted: '< 10 s',
      holds: warm.seconds < 10,
    },
    {
      row: 'rows written by it',
      measured: `${warm.rowsWritten}`,
      floor: '',
      wanted: '0',
      holds: warm.rowsWritten === 0,
    },
    {
      row: '100 Users changed, in rows after',
      measured: `${warm.changed.toFixed(2)} s`,
      floor: '',
      wanted: '< 2 s',
      holds: warm.changed < 2,
    },
    {
      row: `operator with ${USERS}, resident`,
      measured: `${warm.resident.toFixed(0)} MB`,
      floor: '',
      wanted: '< 300 MB',
      holds: warm.resident < 300,
    },
  ]
}

interface Place {
  dir: string
  stateDir: string
  url: string
}

async function operatorUntil(
  world: BenchWorld,
  place: Place,
  condition: () => Promise<boolean>,
): Promise<{ seconds: number }> {
  const { child } = await startOperator(world, place)
  const started = performance.now()
  await eventually(condition, 600)
  const seconds = (performance.now() - started) / 1000
  await eventuallyQuiet(place.url)
  await end(child)
  return { seconds }
}

async function restart(
  world: BenchWorld,
  place: Place,
): Promise<{ seconds: number; rowsWritten: number; changed: number; resident: number }> {
  const before = await written(place.url)
  const started = performance.now()
  const { child, healthPort } = await startOperator(world, place)
  await ready(healthPort, child)
  const seconds = (performance.now() - started) / 1000
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  const rowsWritten = (await written(place.url)) - before

  const edited = performance.now()
  writeFileSync(fileName(place.dir, 0), usersFile(0, USERS / FILES, 'Brown'))
  await eventually(() => count(place.url, `last_name = 'Brown'`, USERS / FILES), 60)
  const changed = (performance.now() - edited) / 1000
  // Idle: the operator gives back what the first look took within ten seconds of its end.
  await new Promise((resolve) => setTimeout(resolve, 15_000))
  const resident = residentMegabytes(child.pid ?? 0)
  await end(child)
  return { seconds, rowsWritten, changed, resident }
}

async function startOperator(
  world: BenchWorld,
  { dir, stateDir, url }: Place,
): Promise<{ child: ChildProcess; healthPort: number }> {
  const healthPort = await freePort()
  const child = spawn(process.execPath, [COMMAND, 'operator', '--dir', dir, '--state-dir', stateDir], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: `${world.directory}/cache`,
      REALMKEEPER_DATABASE_URL: url,
      REALMKEEPER_BASE_URL: 'http://localhost:8080',
      REALMKEEPER_HEALTH_LISTEN_PORT: `${healthPort}`,
      REALMKEEPER_LISTEN_HOST: '127.0.0.1',
      REALMKEEPER_LOG_LEVEL: 'error',
    },
  })
  return { child, healthPort }
}

/** A database of its own: what is counted is what this operator wrote. */
async function ownDatabase(world: BenchWorld): Promise<string> {
  await world.pool.query('create database bench_users')
  const url = new URL(world.databaseUrl)
  url.pathname = '/bench_users'
  return url.href
}

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

async function count(url: string, condition: string, wanted: number): Promise<boolean> {
  const rows = await query<{ n: string }>(url, `select count(*) as n from users where ${condition}`).catch(() => [])
  return Number(rows[0]?.n) === wanted
}

/** Rows inserted, updated or deleted in tables of configuration since the database was made. */
async function written(url: string): Promise<number> {
  const [row] = await query<{ n: string }>(
    url,
    `select sum(n_tup_ins + n_tup_upd + n_tup_del) as n from pg_stat_user_tables
      where relname in ('realms', 'clients', 'users', 'granted_roles', 'role_assignments', 'subjects', 'changes')`,
  )
  return Number(row?.n)
}

/** Statistics reach the view about a second after the work. */
async function eventuallyQuiet(url: string): Promise<void> {
  let last = -1
  await eventually(
    async () => {
      const now = await written(url)
      const quiet = now === last
      last = now
      return quiet
    },
    60,
    1_500,
  )
}

async function eventually(condition: () => Promise<boolean>, seconds: number, every = 50): Promise<void> {
  const deadline = performance.now() + seconds * 1000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${seconds} s: ${condition.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, every))
  }
}

const fileName = (dir: string, file: number): string => `${dir}/users-${String(file).padStart(3, '0')}.yaml`

const REALM = `apiVersion: realmkeeper.io/v1alpha1
kind: Realm
metadata: {name: bench, namespace: bench}
spec: {}
`

function usersFile(from: number, users: number, lastName: string): string {
  return Array.from({ length: users }, (_, i) => userManifest(from + i, lastName)).join('---\n')
}

function userManifest(n: number, lastName: string): string {
  return `apiVersion: realmkeeper.io/v1alpha1
kind: User
metadata: {name: user-${n}, namespace: bench}
spec:
  realmRef: {name: bench}
  username: user-${n}
  lastName: ${lastName}
  passwordSecretRef: {name: user-${n}}
---
apiVersion: v1
kind: Secret
metadata: {name: user-${n}, namespace: bench}
stringData: {password: "correct horse ${n}"}
`
}
