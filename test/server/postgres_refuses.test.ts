import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { certificateAuthority } from '../support/control_plane/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { testDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { ALICE, startServer } from '../support/server.ts'
import { tlsFront } from '../support/tls_front.ts'

// Postgres is there, and does not let the server in, or is not the one that it should be.

let database: TestDatabase
let folder: string
beforeAll(async () => {
  database = await testDatabase()
  folder = await mkdtemp(`${tmpdir()}/realmkeeper-authorities-`)
})
afterAll(async () => {
  await database?.drop()
  await rm(folder, { recursive: true, force: true })
})

const unavailable = { status: 503, body: { error: 'temporarily_unavailable' } }

test('row 84: its role may not log in any more: 503, and service again when it may', async () => {
  const role = `role_${randomBytes(6).toString('hex')}`
  await database.pool.query(`create role ${role} superuser login password 'for-a-test-alone'`)
  const url = new URL(database.url)
  url.username = role
  url.password = 'for-a-test-alone'
  const server = await startServer({ database: { ...database, url: url.href } })
  expect(await server.token(ALICE)).toMatchObject({ status: 200 })
  await database.pool.query(`alter role ${role} nologin`)
  await database.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = $1`, [role])
  // The first ones may find connections that were just killed.
  for (let attempt = 0; attempt < 12; attempt++) {
    const answer = await server.token(ALICE)
    expect(answer).toMatchObject(unavailable)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect(await server.request('certs')).toMatchObject({ status: 200 })
  await eventually(async () => {
    const ready = await fetch(`${server.healthUrl}/readyz`)
    const { checks } = JSON.parse(await ready.text())
    // Nothing of what Postgres says: `role "…" is not permitted to log in`.
    expect(checks.postgres).toBe('failed; the log of this process has the cause')
    expect(server.log.join('')).toContain('is not permitted to log in')
  })
  await database.pool.query(`alter role ${role} login`)
  await eventually(async () => expect(await server.token(ALICE)).toMatchObject({ status: 200 }))
  await server.stop()
  await database.pool.query(`drop role ${role}`)
})

test('row 88: a PostgreSQL that fails the TLS verification of the URL is refused at start, with the reason', async () => {
  const authority = certificateAuthority('databases')
  const ca = `${folder}/ca.pem`
  const otherCa = `${folder}/other.pem`
  await writeFile(ca, authority.certificate)
  await writeFile(otherCa, certificateAuthority('others').certificate)
  const front = await tlsFront(database.url, authority.issueServer(['127.0.0.1']))
  const elsewhere = await tlsFront(database.url, authority.issueServer(['db.example.test']))
  const start = ({ href }: URL, query: string) =>
    startServer({ database: { ...database, url: `${href}?${query}` }, prepare: async () => {} })

  const right = await start(front.url, `sslmode=verify-full&sslrootcert=${ca}`)
  expect(await right.request('/auth/realms/none')).toMatchObject({ status: 404 })
  await right.stop()

  for (const [url, query, reason] of [
    [front.url, `sslmode=verify-full&sslrootcert=${otherCa}`, /unable to verify|self-signed/],
    [elsewhere.url, `sslmode=verify-full&sslrootcert=${ca}`, /does not match certificate/],
    [front.url, `sslmode=verify-full&sslrootcert=${folder}/none.pem`, /none\.pem/],
    [new URL(database.url), 'sslmode=verify-full', /does not support SSL/],
  ] as const) {
    const refused = await start(url, query).then(
      (server) => server.stop(),
      (error: Error) => error,
    )
    expect(refused, query).toMatchObject({ name: 'ServerConfigError' })
    expect(String(refused)).toMatch(reason)
    expect(String(refused)).not.toContain(new URL(database.url).password)
  }
  front.stop()
  elsewhere.stop()
})
