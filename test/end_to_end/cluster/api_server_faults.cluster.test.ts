import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'

describe('while the API server is away', () => {
  let world: ClusterWorld
  beforeAll(async () => {
    world = await clusterWorld()
    await world.applyQuickstart()
    await world.untilReady('users', 'alice')
    await until(async () => expect((await world.login('alice')).status).toBe(200))
  })
  afterAll(() => world?.end())

  const losses = (): number => world.operator.output().split('the Lease is lost').length
  const expectRunning = (): void => {
    expect(world.operator.running(), world.operator.output().slice(-2_000)).toBe(true)
    expect(world.server.running(), world.server.output().slice(-2_000)).toBe(true)
  }

  test('row 121: it is killed and restarted: the processes of the product go on, and no change is missed', async () => {
    await world.plane.kill()
    expect((await world.login('alice')).status).toBe(200)
    await world.plane.start()
    await world.patch('users', 'alice', { spec: { firstName: 'Alicia' } })
    const { body } = await until(async () => {
      const answer = await world.login('alice', { scope: 'openid profile' })
      expect(JSON.stringify(claimsOf(answer.body.access_token))).toContain('Alicia')
      return answer
    })
    expect(body.access_token).toBeDefined()
    await world.untilReady('users', 'alice')

    await world.approve('alice-realm-admin')
    await world.untilReady('roleassignments', 'alice-realm-admin', 'True', 'Granted')
    expectRunning()
  })

  test('row 121: its history is compacted: a new list finds the deletion', async () => {
    // Asleep, so that it does not receive the deletion before the compaction.
    world.operator.signal('SIGSTOP')
    await world.plane.kubectl(['delete', 'user.realmkeeper.io', 'bob', '-n=quickstart', '--wait=false'])
    await world.plane.compact()
    await world.plane.restart()
    world.operator.signal('SIGCONT')
    await until(async () => expect(await world.find('users', 'bob')).toBeUndefined())
    await until(async () => expect((await world.login('bob')).body).toMatchObject({ error: 'invalid_grant' }))
    expectRunning()
  })

  test('row 121: a Lease that cannot be renewed ends the term, not the process, and the next term goes on', async () => {
    const before = losses()
    await world.plane.kill()
    await until(() => expect(losses()).toBeGreaterThan(before))
    expect((await world.login('alice')).status).toBe(200)
    await world.plane.start()
    await world.patch('users', 'alice', { spec: { lastName: 'Abbot' } })
    await until(async () => {
      const { body } = await world.login('alice', { scope: 'openid profile' })
      expect(JSON.stringify(claimsOf(body.access_token))).toContain('Abbot')
    })
    await world.untilReady('users', 'alice')
    await until(async () => expect(await world.operator.isReady()).toBe(true))
    expectRunning()
  })
})

function claimsOf(token = ''): unknown {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString() || '{}')
}
