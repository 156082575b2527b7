import { mkdirSync, writeFileSync } from 'node:fs'
import type { ChildProcess } from 'node:child_process'
import pg from 'pg'
import { insertManySessions } from '../../test/support/many_sessions.ts'
import { logIn, once, refreshCall } from '../calls.ts'
import { ownDatabase } from '../database.ts'
import { eventually } from '../eventually.ts'
import { drive } from '../load.ts'
import { startOperator } from '../operator.ts'
import { plain } from '../report.ts'
import type { Figure } from '../report.ts'
import { end, PASSWORD, SECRET, startServer } from '../world.ts'
import type { BenchWorld } from '../world.ts'

const SESSIONS = 1_000_000
const CONNECTIONS = 4
/** Shares of the sessions at which the operator is killed. */
const KILLS = [0.8, 0.4]

/**
 * A Client, a User and a Realm, each with 1,000,000 open sessions, are deleted. Meanwhile another realm refreshes, and
 * the operator is killed twice.
 */
export async function endedSessionRows(world: BenchWorld): Promise<Figure[]> {
  const dir = `${world.directory}/ends`
  mkdirSync(dir, { recursive: true })
  const databaseUrl = await ownDatabase(world, 'bench_ends')
  const stateDir = `${world.directory}/ends-state`
  const start = async (): Promise<ChildProcess> =>
    (await startOperator(world, { args: ['--dir', dir, '--state-dir', stateDir], databaseUrl })).child
  writeFileSync(`${dir}/other.yaml`, manifests('other', ALL))
  writeFileSync(`${dir}/mass.yaml`, manifests('mass', ALL))
  let operator = await start()
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const count = async (text: string): Promise<number> =>
    Number((await client.query<{ n: string }>(text).catch(() => undefined))?.rows[0]?.n)
  const areRegistered = async (): Promise<boolean> =>
    (await count('select count(*) as n from users where password_hash is not null')) === 2 * CONNECTIONS &&
    (await count('select count(*) as n from clients')) === 2
  await eventually(areRegistered, { seconds: 120 })
  const server = await startServer({ databaseUrl, keyringDir: `${stateDir}/secrets` })
  const tokens = (await logIn(server.port, 'other', CONNECTIONS)).map(({ refresh_token = '' }) => refresh_token)
  const p99 = async (duration: number): Promise<number> => {
    const { p99Latency } = await drive({
      port: server.port,
      connections: CONNECTIONS,
      duration,
      wantedStatus: 200,
      next: (connection) => refreshCall('other', tokens[connection] ?? ''),
      onAnswer: (connection, body) => void (tokens[connection] = JSON.parse(body).refresh_token),
    })
    return p99Latency
  }

  const figures: Figure[] = []
  try {
    for (const [kind, kept] of [
      ['Client', ['Realm', 'User']],
      ['User', ['Realm', 'Client']],
      ['Realm', []],
    ] as const) {
      writeFileSync(`${dir}/mass.yaml`, manifests('mass', ALL))
      await eventually(areRegistered, { seconds: 120 })
      const [held] = await eventuallyLogsIn(server.port)
      const { rows } = await client.query<{ subject: string }>(
        `select subject from users where username = 'user-0' and realm = 'mass'`,
      )
      const subjects = rows.map(({ subject }) => subject)
      await insertManySessions(client, { realm: 'mass', clientId: 'shop', subjects, count: SESSIONS })
      await client.query('vacuum analyze sessions')
      const before = await p99(Math.max(world.duration, 10))

      const deleted = performance.now()
      const seconds = (): number => (performance.now() - deleted) / 1_000
      writeFileSync(`${dir}/mass.yaml`, manifests('mass', kept))
      let token = held?.refresh_token ?? ''
      const isRefused = async (): Promise<boolean> => {
        const { status, body } = await once(server.port, refreshCall('mass', token))
        token = body['refresh_token'] ?? ''
        return status !== 200
      }
      const refused = eventually(isRefused, { seconds: 60, everyMillis: 20 })
      const during: number[] = []
      let kills = 0
      for (;;) {
        during.push(await p99(5))
        const open = await count(`select count(*) as n from sessions where realm = 'mass' and ended_at is null`)
        if (open === 0) break
        if (seconds() > 600) throw new Error(`${open} sessions are open after ${seconds()} s`)
        if (open < SESSIONS * (KILLS[kills] ?? 0)) {
          kills += 1
          operator.kill('SIGKILL')
          operator = await start()
        }
      }
      const ended = seconds()
      const refusedAfter = await refused
      const worst = during.toSorted((a, b) => a - b)[Math.floor(during.length / 2)] ?? Number.NaN
      figures.push(
        plain(`${kind}: refused after`, `${refusedAfter.toFixed(2)} s`, '< 2 s', refusedAfter < 2),
        plain(`${kind}: ${SESSIONS} ended, ${kills} kills`, `${ended.toFixed(0)} s`, '< 300 s', ended < 300),
        {
          row: `${kind}: refresh p99 elsewhere`,
          measured: `${worst.toFixed(1)} ms`,
          floor: `${before.toFixed(1)} ms before`,
          ratio: worst / before,
          wanted: '< 150 %',
          holds: worst / before < 1.5,
        },
      )
    }
  } finally {
    await client.end()
    await end(server.child)
    await end(operator)
  }
  return figures
}

/** Resolves once the server knows the Client again. */
async function eventuallyLogsIn(port: number): Promise<Record<string, string>[]> {
  let answers: Record<string, string>[] = []
  await eventually(
    async () => {
      answers = await logIn(port, 'mass', 1).catch(() => [])
      return answers.length > 0
    },
    { seconds: 30 },
  )
  return answers
}

const ALL = ['Realm', 'Client', 'User'] as const

/** A realm with the Client and the Users of `calls.ts`; only the resources of these kinds. */
function manifests(realm: string, kinds: readonly string[]): string {
  const resource = (kind: string, name: string, spec: object): object => ({
    apiVersion: 'realmkeeper.io/v1alpha1',
    kind,
    metadata: { name, namespace: realm },
    spec,
  })
  const realmRef = { name: realm }
  const users = Array.from({ length: CONNECTIONS }, (_, n) =>
    resource('User', `user-${n}`, { realmRef, username: `user-${n}`, passwordSecretRef: { name: 'password' } }),
  )
  const all: Record<string, object[]> = {
    Realm: [resource('Realm', realm, { tokens: { signingAlgorithm: 'ES256' } })],
    Client: [resource('Client', 'shop', { realmRef, clientId: 'shop', clientSecret: { secretRef: { name: 'shop' } } })],
    User: users,
  }
  const secret = (name: string, stringData: object): object => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: realm },
    stringData,
  })
  return [
    ...kinds.flatMap((kind) => all[kind] ?? []),
    secret('password', { password: PASSWORD }),
    secret('shop', { client_secret: SECRET, password: SECRET }),
  ]
    .map((document) => JSON.stringify(document))
    .join('\n---\n')
}
