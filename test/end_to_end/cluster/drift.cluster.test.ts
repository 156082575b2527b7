import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterWorld, FIELD_ROLES, FIELD_SCOPE, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'

describe('rows that are changed by hand', () => {
  let world: ClusterWorld
  beforeAll(async () => {
    world = await clusterWorld({ operatorArgs: ['--resync-seconds=10'] })
    await world.applyQuickstart()
    for (const name of ['alice', 'bob']) await world.untilReady('users', name)
    await world.untilReady('clients', 'shop')
    for (const name of ['alice-realm-admin', 'quickstart-dob']) {
      await world.untilReady('roleassignments', name, 'False', 'PendingApproval')
      await world.approve(name)
      await world.untilReady('roleassignments', name, 'True', 'Granted')
    }
    // The last write after the grants.
    await until(async () => {
      const { status } = await world.untilReady('realms', 'quickstart')
      const fields = status?.conditions?.find(({ type }) => type === 'FieldEncryptionReady')
      expect(fields?.status, fields?.message).toBe('True')
    })
  })
  afterAll(() => world?.end())

  const rows = async (statement: string): Promise<Record<string, unknown>[]> =>
    (await world.database.pool.query(statement)).rows
  async function metric(name: string): Promise<number> {
    const text = await (await fetch(`${world.operator.healthUrl}/metrics`)).text()
    const line = text.split('\n').find((each) => each.startsWith(`${name} `))
    return Number(line?.slice(name.length))
  }
  const drifted = (): Promise<number> => metric('realmkeeper_operator_drifted_rows_total')

  /** All rows of configuration, without the columns that a new hash of the same secret changes. */
  async function essence(): Promise<unknown> {
    const made = new Set(['password_hash', 'secret_salt', 'secret_hash'])
    const tables = ['realms', 'clients', 'users', 'role_assignments', 'granted_roles']
    const all = await Promise.all(tables.map((table) => rows(`select * from ${table} order by 1, 2, 3, 4`)))
    const forged = await rows(`select client_id, secret_hash = sha256('mine') as "isForged" from clients`)
    return JSON.parse(JSON.stringify([all, forged]), (name, value: unknown) => (made.has(name) ? null : value))
  }

  test('row 123: the next resync corrects them, and counts each once', async () => {
    const before = await essence()
    const edits = [
      `update users set username = 'mallory', enabled = false where name = 'alice'`,
      `delete from users where name = 'bob'`,
      `update clients set settings = settings || '{"fullScopeAllowed": false}', secret_hash = sha256('mine'), secret_salt = ''`,
      `update realms set enabled = false`,
      `delete from granted_roles where role = '_svc_dob.selfencrypt'`,
      `update granted_roles set role = 'owner' where role = 'svc-realm-admin'`,
      `insert into granted_roles values ('quickstart', 'User', 'mallory', 'svc-realm-admin', 'without-assignment', null)`,
    ]
    for (const edit of edits) expect((await world.database.pool.query(edit)).rowCount, edit).toBe(1)
    expect(await essence()).not.toEqual(before)
    await until(async () => expect(await essence()).toEqual(before))
    await until(async () => expect(await drifted(), loggedDrifts().join('\n')).toBe(edits.length))
    expect(loggedDrifts()).toHaveLength(edits.length)

    await until(async () => {
      const { status, body } = await world.login('bob', { scope: FIELD_SCOPE })
      expect(status, JSON.stringify(body)).toBe(200)
      expect(world.rolesIn(body.access_token)).toEqual(FIELD_ROLES)
      expect((await world.login('alice')).status).toBe(200)
    })

    // The next resyncs find nothing to correct.
    const reconciled = (): Promise<number> =>
      metric('realmkeeper_operator_reconciles_total{kind="User",result="ready"}')
    const sofar = await reconciled()
    await until(async () => expect(await reconciled()).toBeGreaterThanOrEqual(sofar + 2))
    expect(await drifted()).toBe(edits.length)
    expect(await essence()).toEqual(before)
  })

  function loggedDrifts(): string[] {
    const lines = world.operator.output().split('\n')
    return lines.flatMap((line): string[] => {
      const drift: unknown = line.includes('"drift":') ? JSON.parse(line).drift : undefined
      return typeof drift === 'string' ? [drift] : []
    })
  }
})
