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
  const isRunningYet = (): void => {
    expect(world.operator.running(), world.operator.output().slice(-2_000)).toBe(true)
    expect(world.server.running(), world.server.output().slice(-2_000)).toBe(true)
  }

  test('row 121: it is killed and restarted, its connections cut: no restart of ours, and nothing is missed', async () => {
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
    isRunningYet()
  })

  test('row 121: history is forgotten meanwhile: it is listed anew, and what went is gone', async () => {
    // Asleep, so that it hears nothing of the deletion before it is history.
    world.operator.signal('SIGSTOP')
    await world.plane.kubectl(['delete', 'user.realmkeeper.io', 'bob', '-n=quickstart', '--wait=false'])
    await world.plane.compact()
    await world.plane.restart()
    world.operator.signal('SIGCONT')
    await until(async () => expect(await world.find('users', 'bob')).toBeUndefined())
    await until(async () => expect((await world.login('bob')).body).toMatchObject({ error: 'invalid_grant' }))
    isRunningYet()
  })

  test('row 121: a Lease that cannot be renewed ends the turn, not the process, and the next turn goes on', async () => {
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
    isRunningYet()
  })
})

function claimsOf(token = ''): unknown {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString() || '{}')
}
