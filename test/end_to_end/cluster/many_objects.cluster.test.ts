import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from './cluster_world.ts'
import { applyAll, resource, secret, userWithPassword } from './manifests.ts'
import { mostTries, proxiedWorld } from './proxied_world.ts'
import type { ProxiedWorld } from './proxied_world.ts'

const GOOD = named('good', 250)
/** Users whose password Secret is missing. */
const LATE = named('late', 20)
/** Users whose Realm does not exist. */
const LOST = named('lost', 20)
/** Users whose rows PostgreSQL refuses. */
const BROKEN = named('broken', 20)
const QUIET_SECONDS = 5

function named(what: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${what}-${index}`)
}

describe('hundreds of Users at once', () => {
  let world: ProxiedWorld
  beforeAll(async () => {
    world = await proxiedWorld()
    await world.database.pool.query(
      `create function refuse_broken() returns trigger language plpgsql as
         'begin if new.name like ''broken-%'' then raise exception ''no''; end if; return new; end'`,
    )
    await world.database.pool.query(
      'create trigger refuse_broken before insert on users for each row execute function refuse_broken()',
    )
  })
  afterAll(() => world?.end())

  /** Names of Users by the reason of their condition Ready of the present generation. */
  async function byReason(): Promise<Record<string, string[]>> {
    const { items } = await world.plane.admin.do('GET', '/apis/realmkeeper.io/v1alpha1/namespaces/quickstart/users')
    const found: Record<string, string[]> = {}
    for (const { metadata, status } of items) {
      const ready = status?.conditions?.find(({ type }: { type: string }) => type === 'Ready')
      const isNow = ready?.observedGeneration === metadata.generation
      const names = (found[isNow ? ready.reason : 'none'] ??= [])
      if (!['alice', 'bob'].includes(metadata.name)) names.push(metadata.name)
    }
    return found
  }

  async function reconciled(): Promise<Record<string, number>> {
    const text = await (await fetch(`${world.operator.healthUrl}/metrics`)).text()
    const found = text.matchAll(/reconciles_total\{kind="User",result="(\w+)"\} (\d+)/g)
    return {
      failed: 0,
      not_ready: 0,
      ready: 0,
      ...Object.fromEntries([...found].map(([, result, count]) => [result, Number(count)])),
    }
  }

  const writesOf = (from: number, part: string): number =>
    world.proxy.requests.slice(from).filter(({ method, url }) => method !== 'GET' && url.includes(part)).length

  test('row 122: valid Users become Ready while others fail permanently, and failures cause no busy loop', async () => {
    const from = world.proxy.requests.length
    // The failing ones first, so that they could delay the others.
    const users = [...BROKEN, ...GOOD].flatMap((name) => userWithPassword(name))
    // A User whose Secret arrives late gets one more status.
    await applyAll(
      world.author,
      users.filter(({ kind }) => kind === 'Secret'),
    )
    const began = performance.now()
    await applyAll(world.author, [
      ...LATE.map((name) => resource('User', name, { username: name, passwordSecretRef: { name } })),
      ...LOST.map((name) => resource('User', name, { username: name, realmRef: { name: 'nowhere' } })),
      ...users.filter(({ kind }) => kind === 'User'),
    ])
    const seen = await until(async () => {
      const found = await byReason()
      expect(found.Registered).toHaveLength(GOOD.length)
      return found
    }, 120)
    expect(seen.Registered?.every((name) => name.startsWith('good-'))).toBe(true)

    await until(async () => {
      const found = await byReason()
      expect(found.SecretNotFound?.toSorted()).toEqual(LATE.toSorted())
      expect(found.RealmNotFound?.toSorted()).toEqual(LOST.toSorted())
      // This failure has no reason of its own.
      expect(found.Reconciling?.toSorted()).toEqual(BROKEN.toSorted())
    })
    // Two writes for each User: finalizer and status.
    expect(writesOf(from, '/users/good-')).toBeLessThanOrEqual(2 * GOOD.length)
    for (const [name, { length }] of Object.entries({ late: LATE, lost: LOST, broken: BROKEN })) {
      expect(writesOf(from, `/users/${name}-`), name).toBeLessThanOrEqual(2 * length)
    }

    const quietFrom = world.proxy.requests.length
    const before = await reconciled()
    await sleep(QUIET_SECONDS * 1_000)
    const after = await reconciled()
    expect(writesOf(quietFrom, '/users/')).toBe(0)
    // A User that waits for a Secret or a Realm is not reconciled until that exists.
    expect(after.not_ready).toBe(before.not_ready)
    expect(after.ready).toBe(before.ready)
    // A failure is tried again after 200 ms to a minute.
    const seconds = (performance.now() - began) / 1_000
    expect(after.failed).toBeLessThanOrEqual(BROKEN.length * mostTries(seconds, 200, 60_000))
    expect(after.failed).toBeGreaterThan(BROKEN.length)

    // Each becomes Ready once the cause is removed.
    await world.database.pool.query('drop trigger refuse_broken on users')
    await applyAll(world.author, [secret('late-0', { password: 'late-0-password' })])
    await world.untilReady('users', 'late-0')
    await until(async () => expect((await byReason()).Registered).toHaveLength(GOOD.length + 1 + BROKEN.length), 90)
  })
})
