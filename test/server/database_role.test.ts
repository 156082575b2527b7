import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../store/schema/migrate.ts'
import { writersOf } from '../support/audit.ts'
import { databaseWithRoles } from '../support/database_roles.ts'
import type { RolesWorld } from '../support/database_roles.ts'
import { eventually } from '../support/eventually.ts'
import { HELD, startFieldServer } from '../support/field_world.ts'
import type { FieldServer } from '../support/field_world.ts'
import { ALICE, SHOP_SECRET, startServer } from '../support/server.ts'

test('a server that starts before its role has rights becomes ready when it gets them', async () => {
  const world = await databaseWithRoles()
  onTestFinished(() => world.end())
  await migrate(world.urls.owner)
  const config = { databaseUrl: world.urls.server }
  const server = await startServer({ database: world.database, config, waitUntilWarm: false })
  onTestFinished(() => server.stop())
  const ready = async () => (await fetch(`${server.healthUrl}/readyz`)).status
  expect(await ready()).toBe(503)
  await migrate(world.urls.owner, { roles: { server: world.roles.server } })
  await eventually(async () => expect(await ready()).toBe(200))
  expect((await server.token(ALICE)).status).toBe(200)
})

describe('a server with the rights of its database role', () => {
  let world: RolesWorld
  let server: FieldServer
  beforeAll(async () => {
    world = await databaseWithRoles()
    await migrate(world.urls.owner, { roles: { server: world.roles.server } })
    server = await startFieldServer({ database: world.database, config: { databaseUrl: world.urls.server } })
  })
  afterAll(async () => {
    await server?.stop()
    await world?.end()
  })

  test('serves login, refresh, userinfo, introspection, encryption and logout, and writes the audit', async () => {
    const { status, body } = await server.token({ ...ALICE, scope: ['openid', ...HELD].join(' ') })
    expect(status).toBe(200)
    const authorization = { authorization: `Bearer ${body.access_token}` }
    expect((await server.request('userinfo', { headers: authorization })).status).toBe(200)
    const form = { token: body.access_token, client_id: 'shop', client_secret: SHOP_SECRET }
    expect((await server.request('token/introspect', { form })).body).toMatchObject({ active: true })
    const sealed = await server.encrypt(body.access_token, { field: 'dateOfBirth', value: '1990-04-01' })
    const opened = await server.decrypt(body.access_token, { field: 'dateOfBirth', ciphertext: sealed.body.ciphertext })
    expect(opened.body).toMatchObject({ value: '1990-04-01' })

    const refreshed = await server.token({ grant_type: 'refresh_token', refresh_token: body.refresh_token })
    expect(refreshed.status).toBe(200)
    const client = { client_id: 'shop', client_secret: SHOP_SECRET }
    const logout = { form: { ...client, refresh_token: refreshed.body.refresh_token } }
    expect((await server.request('logout', logout)).status).toBe(204)
    expect(await writersOf(world.database.pool)).toEqual([expect.stringMatching(/^server\//)])
  })

  test('counts failed logins, ends reused sessions, renews password hashes and writes its heartbeat', async () => {
    expect((await server.token({ ...ALICE, password: 'wrong' })).status).toBe(401)
    const first = await server.token(ALICE)
    const again = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token }
    expect((await server.token(again)).status).toBe(200)
    expect((await server.token(again)).status).toBe(400)

    const { pool } = world.database
    const hashing = JSON.stringify({ memoryKiB: 2048, iterations: 1, parallelism: 1 })
    await pool.query(
      `with next as (update change_counter set last_id = last_id + 1 returning last_id),
            changed as (update realms set password_hashing = $1)
       insert into changes (id, realm, kind, key, at) select last_id, 'acme', 'realm', 'acme', now() from next`,
      [hashing],
    )
    await eventually(async () => {
      expect((await server.token(ALICE)).status).toBe(200)
      const { rows } = await pool.query(`select password_hash as hash from users where username = 'alice'`)
      expect(rows[0]?.hash).toContain('m=2048')
    })
    await eventually(async () => expect((await pool.query('select from replicas')).rowCount).toBe(1))
    expect((await fetch(`${server.healthUrl}/readyz`)).status).toBe(200)
    expect(server.log.filter((line) => line.includes('permission denied'))).toEqual([])
  })
})
