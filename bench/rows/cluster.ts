import type { Pool } from 'pg'
import { createPool, inTransaction } from '../../store/db.ts'
import { migrate } from '../../store/schema/migrate.ts'
import { upsertRealm } from '../../store/realms.ts'
import { claimSubject, upsertUser } from '../../store/users.ts'
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH } from '../../test/support/control_plane/account.ts'
import type { Account } from '../../test/support/control_plane/account.ts'
import { realmRow, userRow } from '../../test/support/rows.ts'
import { API, hasControlPlane, inLanes, LANES, SECRETS, startBenchCluster } from '../cluster.ts'
import { eventuallyQuiet, hasUsers, ownDatabase, query, rowsWritten } from '../database.ts'
import { eventually, sleep } from '../eventually.ts'
import { idleMegabytes, startOperator } from '../operator.ts'
import type { Operator } from '../operator.ts'
import { atMost, plain, withoutTarget } from '../report.ts'
import type { Figure } from '../report.ts'
import { end, peakMegabytes } from '../world.ts'
import type { BenchWorld } from '../world.ts'
import { hashSeconds, USERS } from './users.ts'

const REALMS = 100
const CHANGED = 100

/**
 * Reconciles 10,000 Users with passwords and 100 Realms on an API server. The floor is the time of the hashes and of a
 * bare loop of the same writes. Then a warm restart, a change of 100 Users while another User always fails, and the
 * memory of the operator. Without a control plane there are no rows.
 */
export async function clusterRows(world: BenchWorld): Promise<Figure[]> {
  if (!hasControlPlane('cluster')) return []
  const writes = await bareLoop(world, 1)
  const writesAtOnce = await bareLoop(world, LANES)
  const cluster = await startBenchCluster(world.directory)
  const { admin } = cluster.plane
  const databaseUrl = await ownDatabase(world, 'bench_cluster')
  const args = [`--kubeconfig=${cluster.operator}`, '--require-approval-enforcement']
  const start = (): Promise<Operator> => startOperator(world, { args, databaseUrl })
  try {
    await inLanes(REALMS, (n) => admin.do('POST', `${API}/realms`, realm(n)))
    await inLanes(USERS, async (n) => {
      await admin.do('POST', SECRETS, passwordOf(n))
      await admin.do('POST', `${API}/users`, user(n))
    })

    // Measured before and after, with a running API server, because the speed of the machine drifts.
    const hashesBefore = await hashSeconds(world)
    const created = await cluster.writes()
    const began = performance.now()
    const first = await start()
    const hasAllRows = (): Promise<boolean> => hasUsers(databaseUrl, 'password_hash is not null', USERS)
    await eventually(hasAllRows, { seconds: 900, everyMillis: 500 })
    // Reading all objects takes seconds; the result is the state at the start of the read.
    let readAt = began
    const areAllReady = async (): Promise<boolean> => {
      readAt = performance.now()
      return (await areReady(admin, 'users', USERS)) && (await areReady(admin, 'realms', REALMS))
    }
    await eventually(areAllReady, { seconds: 60 })
    const seconds = (readAt - began) / 1000
    await eventuallyQuiet(databaseUrl)
    const aUser = difference(await cluster.writes(), created, ['users', 'users/status', 'events']) / USERS
    const peak = peakMegabytes(first.child.pid ?? 0)
    await end(first.child)
    const hashes = ((await hashSeconds(world)) + hashesBefore) / 2

    const before = { calls: await cluster.writes(), rows: await rowsWritten(databaseUrl) }
    const again = await start()
    const readyAgain = await again.untilReady()
    await sleep(3_000)
    const calls = difference(await cluster.writes(), before.calls)
    const rows = (await rowsWritten(databaseUrl)) - before.rows

    const changed = await changeWhileOneFails(admin, databaseUrl)
    const resident = await idleMegabytes(again)
    await end(again.child)
    return [
      atMost(`cluster: ${USERS} Users, ${REALMS} Realms`, seconds, { hashes, writes }, 130),
      withoutTarget(atMost(`the same, with ${LANES} parallel loops`, seconds, { hashes, writes: writesAtOnce }, 130)),
      // The Events about signatures of the audit, one or two, are counted as well.
      plain('API writes for a new User', aUser.toFixed(3), '≤ 2.000', aUser < 2.0005),
      plain('warm restart, nothing changed', `${readyAgain.toFixed(1)} s`, '< 10 s', readyAgain < 10),
      plain('API writes and rows of the restart', `${calls} and ${rows}`, '0 and 0', calls + rows === 0),
      plain(`${CHANGED} changed while one fails`, `${changed.toFixed(2)} s`, '< 2 s', changed < 2),
      plain('operator peak, resident', `${peak.toFixed(0)} MB`, '< 300 MB', peak < 300),
      plain(`operator with ${USERS}, resident`, `${resident.toFixed(0)} MB`, '< 300 MB', resident < 300),
    ]
  } finally {
    await cluster.plane.stop()
  }
}

/** Seconds of the operator's writes for these Realms and Users, object by object, in `loops` parallel loops. */
async function bareLoop(world: BenchWorld, loops: number): Promise<number> {
  const cluster = await startBenchCluster(world.directory)
  const { admin } = cluster.plane
  const databaseUrl = await ownDatabase(world, `bench_loop_${loops}`)
  await migrate(databaseUrl)
  const pool = createPool({ connectionString: databaseUrl, applicationName: 'bench loop' })
  try {
    await inLanes(REALMS, (n) => admin.do('POST', `${API}/realms`, realm(n)))
    await inLanes(USERS, (n) => admin.do('POST', `${API}/users`, user(n)))
    const began = performance.now()
    await inLanes(REALMS, (n) => writeRealm(n, admin, pool), loops)
    await inLanes(USERS, (n) => writeUser(n, admin, pool), loops)
    return (performance.now() - began) / 1000
  } finally {
    await pool.end()
    await cluster.plane.stop()
  }
}

async function writeRealm(n: number, admin: Account, pool: Pool): Promise<void> {
  const name = nameOfRealm(n)
  const keyring = { metadata: { name: `keyring-${n}` }, data: { 'keyring.json': 'A'.repeat(4_000) } }
  await writeObject(admin, `${API}/realms/${name}`, realm(n))
  await admin.do('POST', SECRETS, keyring)
  await admin.do('PATCH', `${SECRETS}/keyring-${n}`, keyring, { contentType: MERGE_PATCH })
  await inTransaction(pool, (db) => upsertRealm(db, realmRow({ realm: name, name })))
}

async function writeUser(n: number, admin: Account, pool: Pool): Promise<void> {
  const { metadata } = await writeObject(admin, `${API}/users/user-${n}`, user(n))
  const { uid, name, namespace } = metadata
  const row = { realm: nameOfRealm(n), subject: uid, resourceUid: uid, namespace, name, username: name }
  await inTransaction(pool, async (db) => {
    await claimSubject(db, row.realm, uid, { namespace, name }, new Date())
    await upsertUser(db, userRow({ ...row, passwordHash: HASH }))
  })
}

const HASH = `$argon2id$v=19$m=7168,t=5,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

/** A finalizer and a status with one condition. */
async function writeObject(admin: Account, path: string, { apiVersion, kind, metadata }: Manifest) {
  const finalizers = ['realmkeeper.io/cleanup']
  await admin.do('PATCH', path, [{ op: 'add', path: '/metadata/finalizers', value: finalizers }], {
    contentType: JSON_PATCH,
  })
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Registered',
    message: 'registered in realm bench',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  const status = { observedGeneration: 1, conditions: [condition] }
  const body = { apiVersion, kind, metadata, status }
  return admin.do('PATCH', `${path}/status?fieldManager=bench&force=true`, body, { contentType: APPLY_PATCH })
}

/** Seconds from the last of 100 changes until all rows are updated, while another User always fails. */
async function changeWhileOneFails(admin: Account, databaseUrl: string): Promise<number> {
  await query(databaseUrl, NEVER_WRITTEN)
  await admin.do('POST', `${API}/users`, user(USERS, { username: 'never-written' }))
  await sleep(1_000)
  const patch = { spec: { lastName: 'Brown' } }
  await inLanes(CHANGED, (n) => admin.do('PATCH', `${API}/users/user-${n}`, patch, { contentType: MERGE_PATCH }))
  return eventually(() => hasUsers(databaseUrl, `last_name = 'Brown'`, CHANGED), { seconds: 60 })
}

const NEVER_WRITTEN = `
  create function refuse() returns trigger language plpgsql as $$ begin raise exception 'never'; end $$;
  create trigger refuse before insert or update on users
     for each row when (new.username = 'never-written') execute function refuse()`

/** Whether all objects of a kind exist and are ready. */
async function areReady(admin: Account, plural: string, wanted: number): Promise<boolean> {
  let found = 0
  let page = ''
  do {
    const { items, metadata } = await admin.do('GET', `${API}/${plural}?limit=500${page}`)
    for (const { status } of items as Stored[])
      if (status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) found++
    page = metadata.continue ? `&continue=${metadata.continue}` : ''
  } while (page)
  return found === wanted
}

interface Stored {
  status?: { conditions?: { type: string; status: string }[] }
}

function difference(after: Record<string, number>, before: Record<string, number>, only = Object.keys(after)): number {
  return only.reduce((sum, what) => sum + (after[what] ?? 0) - (before[what] ?? 0), 0)
}

const nameOfRealm = (n: number): string => `bench-${n % REALMS}`

interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string }
  spec: object
}

function realm(n: number): Manifest {
  return { apiVersion: 'realmkeeper.io/v1beta1', kind: 'Realm', metadata: { name: nameOfRealm(n) }, spec: {} }
}

function user(n: number, { username = `user-${n}` } = {}): Manifest {
  return {
    apiVersion: 'realmkeeper.io/v1beta1',
    kind: 'User',
    metadata: { name: `user-${n}` },
    spec: {
      realmRef: { name: nameOfRealm(n) },
      username,
      lastName: 'Adams',
      // The additional user has no password, so that it fails at its row.
      ...(n < USERS && { passwordSecretRef: { name: `user-${n}` } }),
    },
  }
}

function passwordOf(n: number): object {
  return { metadata: { name: `user-${n}` }, stringData: { password: `correct horse ${n}` } }
}
