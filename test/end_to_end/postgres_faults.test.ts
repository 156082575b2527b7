import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { soak } from '../support/soak.ts'
import { startDevWorld, until } from './dev_world.ts'
import type { DevWorld } from './dev_world.ts'

const SAFE = new Set([200, 503])

describe('PostgreSQL fails and recovers', () => {
  let world: DevWorld
  beforeAll(async () => {
    world = await startDevWorld('postgres-faults')
  })
  afterAll(() => world.remove())

  /** Eight callers introspect until `fault` has run; returns the number of answers by status. */
  async function underLoad(fault: (statuses: Map<number, number>) => Promise<void>): Promise<Map<number, number>> {
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
    await fault(statuses).finally(() => over.abort())
    await Promise.all(workers)
    return statuses
  }

  const serves = async (): Promise<boolean> => (await world.login('bob')).status === 200

  /** Waits until as many calls were refused as callers run, or for the length of an outage in the soak run. */
  async function untilRefused(statuses: Map<number, number>, soakSeconds: number): Promise<void> {
    const start = performance.now()
    const seconds = soak(0, soakSeconds)
    await until(() => (statuses.get(503) ?? 0) >= 8 && performance.now() - start >= seconds * 1000, seconds + 90)
  }

  it('row 77: its backends are killed under load', async () => {
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
    const statuses = await underLoad(async (answered) => {
      for (const pid of frozen) process.kill(pid, 'SIGSTOP')
      await untilRefused(answered, 8)
      for (const pid of frozen) process.kill(pid, 'SIGCONT')
      await until(serves, 10)
    })
    expect([...statuses.keys()].filter((status) => !SAFE.has(status))).toEqual([])
    expect(statuses.get(503)).toBeGreaterThan(0)
    expect([world.pidOf('server'), world.pidOf('operator')]).toEqual(pids)
  })

  it('row 77: it is stopped under load; public documents are still served', async () => {
    const pids = [world.pidOf('server'), world.pidOf('operator')]
    const publicDocuments = ['/.well-known/openid-configuration', '/protocol/openid-connect/certs', '']
    const statuses = await underLoad(async (answered) => {
      await world.postgres.stop()
      const answers = await Promise.all(
        publicDocuments.map(async (path) => (await fetch(`${world.url}/auth/realms/quickstart${path}`)).status),
      )
      expect(answers).toEqual([200, 200, 200])
      expect(await world.login('bob')).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } })
      await untilRefused(answered, 20)
      await world.postgres.start()
      await until(serves, 10)
    })
    expect([...statuses.keys()].filter((status) => !SAFE.has(status))).toEqual([])
    expect(statuses.get(503)).toBeGreaterThan(0)
    expect([world.pidOf('server'), world.pidOf('operator')]).toEqual(pids)
    // The operator works again, too.
    world.edit('04_users.yaml', (text) => text.replace('username: bob', 'username: bob\n  enabled: false'))
    await until(async () => (await world.login('bob')).status === 400, 20)
  }, 90_000)
})
