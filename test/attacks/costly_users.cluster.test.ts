import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterWorld, until } from '../end_to_end/cluster/cluster_world.ts'
import type { ClusterWorld } from '../end_to_end/cluster/cluster_world.ts'
import { applyAll, resource, secret, userWithPassword } from '../end_to_end/cluster/manifests.ts'
import type { Manifest } from '../end_to_end/cluster/manifests.ts'
import { memoryCgroup } from '../support/memory_cgroup.ts'
import { isSoak } from '../support/soak.ts'
import { percentile99 } from './callers.ts'
import type { Outcome } from './callers.ts'
import { expectToWithstand, probesOf } from './measure.ts'

const USERS = Array.from({ length: 12 }, (_, at) => `costly-${at}`)
const COSTLIEST = { memoryKiB: 65_536, iterations: 8, parallelism: 8 }

/** The realm of the attack. Without locks, because a login is repeated here until a password is in force. */
function costlyRealm(passwordHashing: object = COSTLIEST): Manifest {
  const spec = { passwordHashing, bruteForceProtection: { enabled: false } }
  return { ...resource('Realm', 'costly-memory', {}), spec }
}

const inCostlyRealm = { realmRef: { name: 'costly-memory' } }
const usersWith = (password: string): Manifest[] =>
  USERS.map((name) => secret(name, { password: `${name}-${password}` }))

describe('a Realm with the costliest hashes that the API accepts', () => {
  const cgroups = { operator: memoryCgroup(), server: memoryCgroup() }
  let world: ClusterWorld
  beforeAll(async () => {
    console.log(`the operator runs ${cgroups.operator.description}, the server ${cgroups.server.description}`)
    world = await clusterWorld({
      within: { operator: cgroups.operator.within, server: cgroups.server.within },
      // As in the chart, for the operator.
      env: { NODE_OPTIONS: '--max-semi-space-size=4', REALMKEEPER_FAILED_LOGINS_PER_ADDRESS: '0' },
    })
    await world.applyQuickstart()
    await world.untilReady('realms', 'quickstart')
  })
  afterAll(async () => {
    await world?.end()
    for (const cgroup of Object.values(cgroups)) cgroup.remove()
  })

  test('row 130: 12 Users with changing passwords and floods of logins occupy neither process', async () => {
    const { author, operator, server } = world
    const beyond = costlyRealm({ ...COSTLIEST, iterations: 9 })
    await expect(applyAll(author, [beyond])).rejects.toThrow('memoryKiB times iterations cannot be more than 524288')
    await applyAll(author, [
      costlyRealm(),
      resource('Client', 'app', { ...inCostlyRealm, clientId: 'app', type: 'Public' }),
      ...USERS.flatMap((name) => userWithPassword(name, inCostlyRealm)),
    ])
    await until(async () => expect(await loginStatus('costly-0', 'password')).toBe(200))

    const edits: Outcome[] = []
    let round = 0
    const login = await loginOf('alice')
    await expectToWithstand({
      attack: 'row 131: logins with the largest memory of a hash',
      target: { port: Number(new URL(world.url).port), healthPort: 0, token: '' },
      parts: [operator, server],
      callers: [
        { name: 'login', url: login.url, body: login.body, headers: login.headers, pauseMillis: 100 },
        ...probesOf(operator),
        ...probesOf(server),
      ],
      mostMillis: 2_000,
      async meanwhile(signal) {
        while (!signal.aborted) {
          await applyAll(author, usersWith(`password-${++round}`))
          // Another author's change is reconciled meanwhile.
          const began = performance.now()
          await world.patch('clients', 'shop', { spec: { description: `round ${round}` } })
          await world.untilReady('clients', 'shop')
          edits.push({ status: 200, millis: performance.now() - began })
          await sleep(100)
        }
      },
    })
    console.log(
      `${round} rounds of 12 passwords; p99 of ${edits.length} edits of a Client: ${percentile99(edits).toFixed(0)} ms`,
    )
    if (isSoak) expect(percentile99(edits)).toBeLessThan(2_000)

    const began = performance.now()
    await until(async () => expect(await loginStatus('costly-11', `password-${round}`)).toBe(200))
    console.log(`the last password is in force ${((performance.now() - began) / 1_000).toFixed(1)} s after the attack`)
    for (const name of USERS) await world.untilReady('users', name)
  })

  async function loginStatus(user: string, password: string): Promise<number> {
    const body = new URLSearchParams({
      grant_type: 'password',
      client_id: 'app',
      username: user,
      password: `${user}-${password}`,
    })
    const url = `${world.url}/realms/costly-memory/protocol/openid-connect/token`
    return (await fetch(url, { method: 'POST', body })).status
  }

  /** A login of a User of the quickstart, once it succeeds. */
  async function loginOf(user: string): Promise<{ url: string; body: string; headers: Record<string, string> }> {
    await until(async () => expect((await world.login(user)).status).toBe(200))
    const form = { grant_type: 'password', client_id: 'shop', client_secret: 'shop-secret-for-development' }
    return {
      url: `${world.url}/realms/quickstart/protocol/openid-connect/token`,
      body: new URLSearchParams({ ...form, username: user, password: `${user}-password-1` }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }
  }
})
