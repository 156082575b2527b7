import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterWorld, LEASE_PATH, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'
import { applyAll, userWithPassword } from './manifests.ts'
import type { Part } from './part.ts'

describe('two operators', () => {
  let world: ClusterWorld
  let other: Part
  beforeAll(async () => {
    world = await clusterWorld()
    other = await world.startOperator()
    await world.applyQuickstart()
    await world.untilReady('users', 'alice')
    await until(async () => expect(await other.isReady()).toBe(true))
  })
  afterAll(() => world?.end())

  const epoch = async (): Promise<{ epoch: string; holder: string }> => {
    const { rows } = await world.database.pool.query('select epoch, holder from operator_epoch')
    return rows[0]
  }
  const leadsIn = (part: Part): number => part.output().split('"msg":"this operator leads"').length - 1

  test('one leads, the other stands by and is ready', async () => {
    expect(leadsIn(world.operator)).toBe(1)
    expect(leadsIn(other)).toBe(0)
    expect(await world.operator.isReady()).toBe(true)
  })

  test('row 120: the leader sleeps longer than its Lease: its next write to the database is refused, and it exits', async () => {
    const before = await epoch()
    // Many hashes are in progress when it falls asleep, and each ends with a write.
    const users = Array.from({ length: 60 }, (_, index) => userWithPassword(`sleeper-${index}`)).flat()
    await applyAll(world.author, users)
    await until(async () => {
      const { rows } = await world.database.pool.query(`select from users where name like 'sleeper-%'`)
      expect(rows.length).toBeGreaterThan(3)
    })
    world.operator.signal('SIGSTOP')
    await until(async () => expect((await epoch()).epoch).not.toBe(before.epoch), 60)
    await until(() => expect(leadsIn(other)).toBe(1))
    const after = await epoch()

    world.operator.signal('SIGCONT')
    expect(await world.operator.ended).toBe(1)
    expect(world.operator.output()).toContain(`epoch ${before.epoch} is over: ${after.holder} leads`)
    await world.untilReady('users', 'sleeper-59')
    expect(await epoch()).toEqual(after)
  })

  test('SIGTERM releases the Lease, so that the next operator need not wait until it expires', async () => {
    const next = await world.startOperator()
    await until(async () => expect(await next.isReady()).toBe(true))
    expect(await other.stop()).toBe(0)
    await until(async () => {
      const { spec } = await world.plane.admin.do('GET', LEASE_PATH)
      expect(spec.holderIdentity).toBe((await epoch()).holder)
      expect(leadsIn(next)).toBe(1)
    })
  })
})
