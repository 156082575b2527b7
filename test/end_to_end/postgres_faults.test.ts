import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDevWorld, until } from './dev_world.ts'
import type { DevWorld } from './dev_world.ts'

const SAFE = new Set([200, 503])

describe('Postgres goes away and comes back', () => {
  let world: DevWorld
  beforeAll(async () => {
    world = await startDevWorld('postgres-faults')
  })
  afterAll(() => world.remove())

  /** Introspects again and again while `fault` runs; returns how often each status was answered. */
  async function underLoad(fault: () => Promise<void>): Promise<Map<number, number>> {
    const { access_token = '' } = (await world.login('bob')).body
    const statuses = new Map<number, number>()
    const over = new AbortController()
    const worker = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const { status } = await world.introspect(access_token)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    const workers = Array.from({ length: 8 }, worker)
    await fault().finally(() => over.abort())
    await Promise.all(workers)
    return statuses
  }

  const serves = async (): Promise<boolean> => (await world.login('bob')).status === 200

  it('row 77: all its backends are killed under load', async () => {
    const pids = [world.pidOf('server'), world.pidOf('operator')]
    const statuses = await underLoad(async () => {
      for (let round = 0; round < 5; round++) {
        await world.postgres.killBackends()
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
      await until(serves, 10)
    })
    expect([...statuses.keys()].filter((status) => !SAFE.has(status))).toEqual([])
    expect(statuses.get(200)).toBeGreaterThan(0)
    expect([world.pidOf('server'), world.pidOf('operator')]).toEqual(pids)
  })

  it('row 78: it is frozen', async () => {
    const pids = [world.pidOf('server'), world.pidOf('operator')]
    const frozen = world.postgres.pids()
    const statuses = await underLoad(async () => {
      for (const pid of frozen) process.kill(pid, 'SIGSTOP')
      await new Promise((resolve) => setTimeout(resolve, 8_000))
      for (const pid of frozen) process.kill(pid, 'SIGCONT')
      await until(serves, 10)
    })
    expect([...statuses.keys()].filter((status) => !SAFE.has(status))).toEqual([])
    expect(statuses.get(503)).toBeGreaterThan(0)
    expect([world.pidOf('server'), world.pidOf('operator')]).toEqual(pids)
  }, 60_000)

  it('row 77: it is stopped for 20 s under load; what is public is answered meanwhile', async () => {
    const pids = [world.pidOf('server'), world.pidOf('operator')]
    const publicDocuments = ['/.well-known/openid-configuration', '/protocol/openid-connect/certs', '']
    const statuses = await underLoad(async () => {
      await world.postgres.stop()
      const stopped = performance.now()
      const answers = await Promise.all(
        publicDocuments.map(async (path) => (await fetch(`${world.url}/auth/realms/quickstart${path}`)).status),
      )
      expect(answers).toEqual([200, 200, 200])
      expect(await world.login('bob')).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } })
      await new Promise((resolve) => setTimeout(resolve, 20_000 - (performance.now() - stopped)))
      await world.postgres.start()
      await until(serves, 10)
    })
    expect([...statuses.keys()].filter((status) => !SAFE.has(status))).toEqual([])
    expect(statuses.get(503)).toBeGreaterThan(0)
    expect([world.pidOf('server'), world.pidOf('operator')]).toEqual(pids)
    // The operator works again as well.
    world.edit('04_users.yaml', (text) => text.replace('username: bob', 'username: bob\n  enabled: false'))
    await until(async () => (await world.login('bob')).status === 400, 20)
  }, 90_000)
})
