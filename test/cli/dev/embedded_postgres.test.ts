import { execFileSync } from 'node:child_process'
import { appendFile, chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  startEmbeddedPostgres,
  startSupervisedPostgres,
  stopEmbeddedPostgres,
} from '../../../cli/dev/embedded_postgres.ts'
import { findPostgresBinaries } from '../../../cli/dev/postgres_binaries.ts'
import { postgresLocation } from '../../../cli/dev/postgres_location.ts'

const binaries = await findPostgresBinaries()
let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'realmkeeper-embedded-'))
  await chmod(directory, 0o711)
})

afterEach(async () => {
  if (!binaries) return
  const location = await postgresLocation(directory, binaries.account)
  await stopEmbeddedPostgres(directory, binaries)
  const isElsewhere = !location.startsWith(directory)
  for (const path of [directory, isElsewhere ? dirname(location) : location]) {
    await rm(path, { recursive: true, force: true })
  }
})

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

async function location(): Promise<string> {
  return postgresLocation(directory, binaries?.account)
}

test('data survives a stop and a second start; the password is in a file that only its owner reads', async () => {
  const first = await startEmbeddedPostgres({ directory })
  await query(first.url, 'create table survivor (id int)')
  await first.stop()
  await expect(query(first.url, 'select')).rejects.toThrow('ECONNREFUSED')

  const second = await startEmbeddedPostgres({ directory })
  expect(await query(second.url, `select to_regclass('survivor')::text as name`)).toEqual([{ name: 'survivor' }])
  expect((await stat(join(directory, 'password'))).mode & 0o777).toBe(0o600)
})

test('it is UTF8 with the collation of code points, independent of the environment', async () => {
  const { url } = await startEmbeddedPostgres({ directory })
  const rows = await query(
    url,
    `select current_setting('server_encoding') as encoding, lower('ÄÖ') as lower, 'Z' < 'a' as by_code_point`,
  )
  expect(rows).toEqual([{ encoding: 'UTF8', lower: 'äö', by_code_point: true }])
})

test('it listens on the loopback address only, with a password', async () => {
  const { url, port } = await startEmbeddedPostgres({ directory })
  expect(
    await query(
      url,
      `select current_setting('listen_addresses') as on, current_setting('unix_socket_directories') as in`,
    ),
  ).toEqual([{ on: '127.0.0.1', in: '' }])
  await expect(query(`postgres://realmkeeper:wrong@127.0.0.1:${port}/postgres`, 'select')).rejects.toThrow('password')
})

test('a PostgreSQL that outlived its process is stopped, and the next start has its data', async () => {
  const orphan = await startEmbeddedPostgres({ directory })
  await query(orphan.url, 'create table survivor (id int)')

  const next = await startEmbeddedPostgres({ directory })
  await expect(query(orphan.url, 'select')).rejects.toThrow('ECONNREFUSED')
  expect(await query(next.url, `select to_regclass('survivor')::text as name`)).toEqual([{ name: 'survivor' }])
})

test('it starts after its postmaster was killed', async () => {
  const killed = await startEmbeddedPostgres({ directory })
  const pid = Number.parseInt(await readFile(`${await location()}/data/postmaster.pid`, 'utf8'), 10)
  process.kill(pid, 'SIGKILL')
  await expect(query(killed.url, 'select')).rejects.toThrow()

  const next = await startEmbeddedPostgres({ directory })
  expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('a process that has the pid of an earlier postmaster gets no signal', async () => {
  const first = await startEmbeddedPostgres({ directory })
  const file = `${await location()}/data/postmaster.pid`
  const text = await readFile(file, 'utf8')
  await first.stop()
  await writeFile(file, text.replace(/^\d+/, String(process.pid)))

  const next = await startEmbeddedPostgres({ directory })
  expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('a database of another version is refused with one line of advice', async () => {
  const first = await startEmbeddedPostgres({ directory })
  await first.stop()
  await writeFile(`${await location()}/data/PG_VERSION`, '13\n')
  await expect(startEmbeddedPostgres({ directory })).rejects.toThrow(
    `${directory} holds a database of PostgreSQL 13, and this realmkeeper has PostgreSQL 18: move that directory away ` +
      'to begin with an empty database, or run the realmkeeper that created it',
  )
})

test('when it does not start, the error shows the end of its log', async () => {
  const first = await startEmbeddedPostgres({ directory })
  await first.stop()
  await appendFile(`${await location()}/data/postgresql.conf`, 'no_such_setting = on\n')
  await expect(startEmbeddedPostgres({ directory })).rejects.toThrow(/does not start.*no_such_setting/s)
})

test('an interrupted initialization is repeated', async () => {
  const first = await startEmbeddedPostgres({ directory })
  await first.stop()
  execFileSync('mv', [`${await location()}/data`, `${await location()}/data.new`])
  const next = await startEmbeddedPostgres({ directory })
  expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }])
})

test.skipIf(process.getuid?.() !== 0)(
  'row 134: as root, files in the folder of the other account are touched with its rights alone',
  async () => {
    const first = await startEmbeddedPostgres({ directory })
    await first.stop()
    const secret = `${directory}/secret`
    await writeFile(secret, 'only-root-reads-this\n', { mode: 0o600 })
    // What the account could do: links to files of root in place of its own.
    await rm(`${await location()}/log`, { force: true })
    await symlink(secret, `${await location()}/log`)
    await rm(`${await location()}/data/PG_VERSION`)
    await symlink(secret, `${await location()}/data/PG_VERSION`)
    const kept = `${await location()}/data.new`
    await mkdir(kept, { mode: 0o700 })
    await writeFile(`${kept}/file`, 'of root')

    const error = await startEmbeddedPostgres({ directory }).then(
      () => undefined,
      (reason: unknown) => String(reason),
    )
    // With the rights of root, the folder of root would have been removed.
    expect(error).toContain('Permission denied')
    expect(error).not.toContain('only-root-reads-this')
    expect(await readFile(`${kept}/file`, 'utf8')).toBe('of root')
    expect(await readFile(secret, 'utf8')).toBe('only-root-reads-this\n')
  },
)

test.skipIf(process.getuid?.() !== 0)(
  'as root, the database of an unreachable directory lies elsewhere, and is removed after its directory',
  async () => {
    await chmod(directory, 0o700)
    const first = await startEmbeddedPostgres({ directory })
    await query(first.url, 'create table survivor (id int)')
    await first.stop()
    const elsewhere = await location()
    expect(elsewhere).toMatch(/^\/var\/tmp\/realmkeeper-database-/)

    const second = await startEmbeddedPostgres({ directory })
    expect(await query(second.url, `select to_regclass('survivor')::text as name`)).toEqual([{ name: 'survivor' }])
    await second.stop()

    await rm(directory, { recursive: true })
    await mkdir(directory, { mode: 0o700 })
    expect(await location()).not.toBe(elsewhere)
    await expect(stat(elsewhere)).rejects.toThrow('ENOENT')
  },
)

test.skipIf(process.getuid?.() !== 0 || !binaries?.account)(
  'as root, several that start at once remove what was abandoned, and nothing of each other',
  async () => {
    const start = (path: string): Promise<string> => postgresLocation(path, binaries?.account)
    await chmod(directory, 0o700)
    const abandoned = await Promise.all(Array.from({ length: 3 }, (_, n) => start(`${directory}/gone-${n}/state`)))
    for (const [n] of abandoned.entries()) await rm(`${directory}/gone-${n}`, { recursive: true })

    const paths = Array.from({ length: 8 }, (_, n) => `${directory}/new-${n}/state`)
    const locations = await Promise.all(paths.map(start))
    expect(new Set(locations).size).toBe(8)
    for (const [n, path] of paths.entries()) expect(await start(path)).toBe(locations[n])
    for (const location of abandoned) await expect(stat(dirname(location))).rejects.toThrow('ENOENT')
    for (const location of locations) await rm(dirname(location), { recursive: true })
  },
)

test('a supervised one is started again on its port when it does not come back', async () => {
  const lines: string[] = []
  const print = (line: string) => lines.push(line)
  const supervised = await startSupervisedPostgres(directory, { print, checkMillis: 20, graceMillis: 100 })
  const pid = Number.parseInt(await readFile(`${await location()}/data/postmaster.pid`, 'utf8'), 10)
  process.kill(pid, 'SIGKILL')
  await expect
    .poll(() => lines, { timeout: 120_000 })
    .toEqual([
      'PostgreSQL has stopped; dev starts it in 0.1 s unless it runs again by then',
      'PostgreSQL is running again',
    ])
  expect(await query(supervised.url, 'select 1 as one')).toEqual([{ one: 1 }])
  await supervised.stop()
  expect(await supervised.isRunning()).toBe(false)
})
