import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseLine } from '../../support/database_line.ts'
import type { DatabaseLine } from '../../support/database_line.ts'
import { CLIENT, clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'
import { applyAll, resource } from './manifests.ts'

describe('while PostgreSQL cannot be reached', () => {
  let line: DatabaseLine
  let world: ClusterWorld
  beforeAll(async () => {
    line = await databaseLine({ migrated: false })
    world = await clusterWorld({ database: line })
    await world.applyQuickstart()
    for (const name of ['alice', 'bob']) await world.untilReady('users', name)
    await world.untilReady('clients', 'shop')
  })
  afterAll(() => world?.end())

  const rowsOf = async (name: string): Promise<number> =>
    (await line.pool.query('select from users where name = $1', [name])).rows.length
  const eventsOf = async (name: string): Promise<{ reason: string; message: string; count: number }[]> => {
    const { items } = await world.plane.admin.do('GET', '/api/v1/namespaces/quickstart/events')
    return items.filter((event: { involvedObject: { name: string } }) => event.involvedObject.name === name)
  }
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${world.operator.healthUrl}/metrics`)).text()
    return Number(
      text
        .split('\n')
        .find((each) => each.startsWith(`${name} `))
        ?.slice(name.length) ?? 0,
    )
  }

  test('row 115: a deleted User stays with its finalizer, an Event gives the reason, and it disappears once, after its row', async () => {
    const session = await until(async () => {
      const answer = await world.login('bob')
      expect(answer.status).toBe(200)
      return answer
    })
    line.cut()
    await world.plane.kubectl(['delete', 'user.realmkeeper.io', 'bob', '-n=quickstart', '--wait=false'])
    await until(async () =>
      expect(await eventsOf('bob')).toMatchObject([
        {
          reason: 'CleanupPending',
          message: 'the object stays until its rows are removed: waiting for PostgreSQL',
          count: 1,
        },
      ]),
    )
    // A new User waits as well, and its status says so.
    await applyAll(world.author, [resource('User', 'carol', { username: 'carol' })])
    const carol = await world.untilReady('users', 'carol', 'Unknown', 'Reconciling')
    expect(carol.status?.conditions?.[0]?.message).toBe('waiting for PostgreSQL')

    // Tried many times during these seconds, and reported once.
    await sleep(5_000)
    expect((await world.find('users', 'bob'))?.metadata.finalizers).toEqual(['realmkeeper.io/cleanup'])
    expect(await rowsOf('bob')).toBe(1)
    expect(await eventsOf('bob')).toHaveLength(1)
    expect((await eventsOf('bob'))[0]?.count).toBe(1)
    expect(world.operator.running()).toBe(true)

    line.mend()
    await until(async () => expect(await world.find('users', 'bob')).toBeUndefined())
    expect(await rowsOf('bob')).toBe(0)
    await world.untilReady('users', 'carol')
    expect(await metric('realmkeeper_operator_reconciles_total{kind="User",result="finalized"}')).toBe(1)
    const ended = await line.pool.query(
      `select details::json ->> 'reason' as reason from audit where action = 'session_ended'`,
    )
    expect(ended.rows).toHaveLength(1)

    const refresh = { grant_type: 'refresh_token', ...CLIENT, refresh_token: session.body.refresh_token ?? '' }
    await until(async () => {
      expect((await world.login('bob')).body).toMatchObject({ error: 'invalid_grant' })
      expect((await world.login('alice')).status).toBe(200)
    })
    const again = await world.post('/token', refresh)
    expect(again.body).toMatchObject({ error: 'invalid_grant' })
    await until(async () =>
      expect([await world.operator.isReady(), await world.server.isReady()]).toEqual([true, true]),
    )
  })
})
