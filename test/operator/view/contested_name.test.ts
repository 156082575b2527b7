import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunningOperator } from '../../../operator/main.ts'
import { client, realm, user } from '../manifests.ts'
import { eventually, operatorUnderTest } from '../operator_under_test.ts'
import type { Manifest, OperatorUnderTest } from '../operator_under_test.ts'

// Thousands of resources that claim one name must not enqueue each other: that is the square of their number.

const CLAIMANTS = 400

let operator: OperatorUnderTest
let running: RunningOperator
beforeAll(async () => {
  operator = await operatorUnderTest()
  await operator.write('realm.yaml', realm('shop'))
  running = await operator.start()
  await operator.untilReady('Realm', 'shop')
})
afterAll(() => operator?.end())

async function reconciles(kind: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${running.healthPort}/metrics`)).text()
  const counts = text.matchAll(
    new RegExp(`^realmkeeper_operator_reconciles_total{[^}]*kind="${kind}"[^}]*} (\\d+)`, 'gm'),
  )
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

const name = (n: number): string => `claimant-${String(n).padStart(4, '0')}`

test.each([
  [
    'User',
    'UsernameTaken',
    (n: number): Manifest => user(name(n), { username: 'alice', passwordSecretRef: undefined }),
  ],
  ['Client', 'ClientIdTaken', (n: number): Manifest => client(name(n), { clientId: 'web', type: 'Public' })],
] as const)(
  'row 144: %s: each claimant is reconciled a few times, and the next holder when the holder goes',
  async (kind, reason, manifest) => {
    const all = Array.from({ length: CLAIMANTS }, (_, n) => n)
    await operator.write('claimants.yaml', ...all.map(manifest))
    const readyOf = (n: number) => operator.condition(kind, name(n))
    await eventually(() => expect(all.filter((n) => readyOf(n)?.reason === reason)).toHaveLength(CLAIMANTS - 1))
    await eventually(() => expect(all.filter((n) => readyOf(n)?.status === 'True')).toHaveLength(1))
    const holder = all.find((n) => readyOf(n)?.status === 'True') ?? -1
    expect(await reconciles(kind)).toBeLessThan(3 * CLAIMANTS)

    // Each of these goes while it holds the name.
    const before = await reconciles(kind)
    let left = all
    for (let gone = holder, round = 0; round < 5; round++) {
      const now = left.filter((n) => n !== gone)
      await operator.write('claimants.yaml', ...now.map(manifest))
      const next = await eventually(() => {
        const found = now.find((n) => readyOf(n)?.status === 'True')
        if (found === undefined) throw new Error('no claimant holds the name')
        return found
      })
      expect(next).toBe(now[0])
      ;[gone, left] = [next, now]
    }
    expect((await reconciles(kind)) - before).toBeLessThan(50)

    // The holder stays when others go.
    await operator.write('claimants.yaml', ...left.filter((n) => n % 2 === 0 || n === left[0]).map(manifest))
    await eventually(() => expect(operator.find(kind, name(399))).toBeUndefined())
    expect(operator.condition(kind, name(left[0] ?? -1))?.status).toBe('True')
  },
)

test('row 144: an edit of a claimant of a held name wakes no Client that uses the name', async () => {
  const USERS = 40
  const users = Array.from({ length: USERS }, (_, n) => client(`user-${n}`, { type: 'Public', audiences: ['api'] }))
  const claimant = (edit: number) => client('claimant', { clientId: 'api', type: 'Public', name: `Edit ${edit}` })
  await operator.write('api.yaml', client('api', { type: 'Public' }))
  await operator.untilReady('Client', 'api')
  await operator.write('users.yaml', ...users)
  await operator.untilReady('Client', `user-${USERS - 1}`)
  await operator.write('claimant.yaml', claimant(0))
  await operator.untilReady('Client', 'claimant', 'False', 'ClientIdTaken')

  const before = await reconciles('Client')
  for (let edit = 1; edit <= 5; edit++) {
    await operator.write('claimant.yaml', claimant(edit))
    await eventually(() => expect(operator.find('Client', 'claimant')?.metadata.generation).toBe(edit + 1))
    await operator.untilReady('Client', 'claimant', 'False', 'ClientIdTaken')
  }
  expect((await reconciles('Client')) - before).toBeLessThan(USERS)
})
