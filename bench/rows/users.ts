import { mkdirSync, writeFileSync } from 'node:fs'
import { eventuallyQuiet, hasUsers, ownDatabase, rowsWritten } from '../database.ts'
import { eventually, sleep } from '../eventually.ts'
import { idleMegabytes, startOperator } from '../operator.ts'
import type { Operator } from '../operator.ts'
import { atMost, plain } from '../report.ts'
import type { Figure } from '../report.ts'
import { end } from '../world.ts'
import type { BenchWorld } from '../world.ts'
import { HASHES_AT_A_TIME, rawHashRate } from './login.ts'

export const USERS = 10_000
const FILES = 100

/**
 * Reconciles 10,000 Users from manifests, compared with the time of their password hashes on all cores. Then a warm
 * restart, a change of 100 Users, and the memory of the operator.
 */
export async function userRows(world: BenchWorld): Promise<Figure[]> {
  const dir = `${world.directory}/manifests`
  mkdirSync(dir, { recursive: true })
  writeFileSync(`${dir}/realm.yaml`, REALM)
  const perFile = USERS / FILES
  for (let file = 0; file < FILES; file++)
    writeFileSync(fileName(dir, file), usersFile(file * perFile, perFile, 'Adams'))

  const databaseUrl = await ownDatabase(world, 'bench_users')
  const start = (): Promise<Operator> =>
    startOperator(world, { args: ['--dir', dir, '--state-dir', `${world.directory}/state`], databaseUrl })
  const hashes = await hashSeconds(world)

  const first = await start()
  const hasAllRows = (): Promise<boolean> => hasUsers(databaseUrl, 'password_hash is not null', USERS)
  const seconds = await eventually(hasAllRows, { seconds: 600, everyMillis: 500 })
  await eventuallyQuiet(databaseUrl)
  await end(first.child)

  const before = await rowsWritten(databaseUrl)
  const again = await start()
  const readyAgain = await again.untilReady()
  await sleep(3_000)
  const written = (await rowsWritten(databaseUrl)) - before

  writeFileSync(fileName(dir, 0), usersFile(0, perFile, 'Brown'))
  const changed = await eventually(() => hasUsers(databaseUrl, `last_name = 'Brown'`, perFile), { seconds: 60 })
  const resident = await idleMegabytes(again)
  await end(again.child)
  return [
    atMost(`${USERS} Users`, seconds, { hashes }, 130),
    plain('warm restart, nothing changed', `${readyAgain.toFixed(1)} s`, '< 10 s', readyAgain < 10),
    plain('rows written by the restart', `${written}`, '0', written === 0),
    plain('100 Users changed, in rows after', `${changed.toFixed(2)} s`, '< 2 s', changed < 2),
    plain(`operator with ${USERS}, resident`, `${resident.toFixed(0)} MB`, '< 300 MB', resident < 300),
  ]
}

/** Seconds of the password hashes of all Users on all cores. */
export async function hashSeconds({ duration }: BenchWorld): Promise<number> {
  return USERS / (await rawHashRate(Math.max(10, duration), HASHES_AT_A_TIME))
}

const fileName = (dir: string, file: number): string => `${dir}/users-${String(file).padStart(3, '0')}.yaml`

const REALM = `apiVersion: realmkeeper.io/v1beta1
kind: Realm
metadata: {name: bench, namespace: bench}
spec: {}
`

function usersFile(from: number, users: number, lastName: string): string {
  return Array.from({ length: users }, (_, i) => userManifest(from + i, lastName)).join('---\n')
}

function userManifest(n: number, lastName: string): string {
  return `apiVersion: realmkeeper.io/v1beta1
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
