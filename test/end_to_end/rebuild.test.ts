import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import pg from 'pg'
import { CLIENT, FIELD_SCOPE, startDevWorld, until } from './dev_world.ts'
import type { DevWorld } from './dev_world.ts'

const DERIVED = ['realms', 'clients', 'users', 'role_assignments', 'granted_roles']

describe('rows of configuration are derived from the manifests', () => {
  let world: DevWorld
  beforeAll(async () => {
    world = await startDevWorld('rebuild')
    await world.approveAll()
  })
  afterAll(() => world.remove())

  async function inDatabase<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
    const client = new pg.Client({ connectionString: world.postgres.url() })
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  it('after a rebuild, subjects, clients, secrets, roles, tokens and ciphertexts are as before', async () => {
    const { access_token = '', refresh_token = '' } = (await world.login('bob', { scope: FIELD_SCOPE })).body
    const before = (await world.introspect(access_token)).body
    const { body } = await world.field('encrypt', access_token, { field: 'dateOfBirth', value: '1990-01-31' })
    const rows = await inDatabase(async (client) => {
      const kept = await client.query('select realm, client_id, resource_uid from clients order by 1, 2')
      for (const table of DERIVED) await client.query(`delete from ${table}`)
      return kept.rows
    })

    process.kill(world.pidOf('operator'), 'SIGKILL')
    await until(async () => (await world.introspect(access_token)).body.active === true, 30)
    await until(async () => {
      const { body: seen } = await world.introspect(access_token)
      return JSON.stringify(seen.realm_access) === JSON.stringify(before.realm_access)
    }, 30)

    expect((await world.introspect(access_token)).body).toEqual(before)
    const again = await inDatabase(
      async (client) => (await client.query('select realm, client_id, resource_uid from clients order by 1, 2')).rows,
    )
    expect(again).toEqual(rows)
    const decrypted = await world.field('decrypt', access_token, { field: 'dateOfBirth', ciphertext: body.ciphertext })
    expect(decrypted.body).toMatchObject({ value: '1990-01-31', stale: false })
    const refreshed = await world.post('/token', { grant_type: 'refresh_token', ...CLIENT, refresh_token })
    expect(refreshed.status).toBe(200)
    expect((await world.introspect(refreshed.body.access_token ?? '')).body).toMatchObject({ sub: before.sub })
  })
})
