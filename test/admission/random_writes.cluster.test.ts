import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../end_to_end/cluster/cluster_world.ts'
import { removePolicies } from '../support/policies.ts'
import { soak } from '../support/soak.ts'
import { GATED, HARMLESS, MALLORYS, THROUGH_LAX } from './mallory.ts'
import { noTotals, play } from './random_sequence.ts'
import type { Sequence, Totals } from './random_sequence.ts'
import { HOME, tokenWorld } from './token_world.ts'
import type { TokenWorld } from './token_world.ts'
import { API, assignment, serveLaxVersion } from './world.ts'
import { applyStatus, entry, merge, pathOf } from './writes.ts'

const SEQUENCES = soak(60, 500)
const LANES = Array.from({ length: 12 }, (_, index) => `lane-${index}`)
const SEED = 20_260_101

/** Mallory has all rights on RoleAssignments and their status except `approve`. */
describe('writes without the verb approve', () => {
  let world: TokenWorld
  beforeAll(async () => {
    world = await tokenWorld(LANES)
  })
  afterAll(() => world?.end())

  async function playSequences(count: number, rules: Omit<Sequence, 'number'>): Promise<Totals> {
    const totals = noTotals()
    let next = 0
    async function lane(player: TokenWorld['players'][number]): Promise<void> {
      while (next < count) await play(world, player, { ...rules, number: SEED + next++ }, totals)
    }
    const lanes = world.players.map((player) =>
      lane(player).catch((error: unknown) => {
        next = count
        throw error
      }),
    )
    // All sequences end before the next test starts.
    await Promise.allSettled(lanes)
    await Promise.all(lanes)
    return totals
  }

  test(`row 98: no gated role in a token by ${SEQUENCES} random sequences`, { timeout: 3_600_000 }, async () => {
    await untilEnforced()
    const totals = await playSequences(SEQUENCES, { writes: MALLORYS, isEnforced: true })

    // Proves that the sequences made writes and that grants were possible.
    expect(totals.passed).toBeGreaterThan(SEQUENCES)
    expect(totals.refused).toBeGreaterThan(SEQUENCES)
    expect(totals.withHarmless).toBeGreaterThan(SEQUENCES / 2)

    // Also checks grants that lasted only a moment.
    const grants = await world.grants()
    expect(grants.length).toBeGreaterThan(SEQUENCES / 10)
    expect(grants.filter(({ generationOf }) => !totals.approved.has(generationOf))).toEqual([])
    expect(new Set(grants.flatMap(({ roles }) => roles))).toEqual(new Set([HARMLESS]))
    expect(new Set(grants.flatMap(({ approvers }) => approvers))).toEqual(new Set(['ann']))
  })

  test('a grant ends with its object, also when the finalizer was removed', async () => {
    const player = world.players[0]!
    const before = await granted('loose')
    await merge(world.admin, before, { metadata: { finalizers: null } })
    await world.admin.do('DELETE', pathOf(before))
    await until(async () => expect(await player.roles()).toEqual([]))

    const replaced = await granted('replaced')
    await merge(world.admin, replaced, { metadata: { finalizers: null } })
    await Promise.all([world.admin.do('DELETE', pathOf(replaced)), request('replaced')])
    await until(async () => expect(await player.roles()).toEqual([]))
    await world.admin.do('DELETE', pathOf(replaced))

    // The finalizer of another controller keeps the object. The operator may add its own again.
    for (let round = 0; round < 5; round++) {
      const kept = await granted('kept')
      await merge(world.admin, kept, { metadata: { finalizers: ['example.com/kept'] } })
      await world.admin.do('DELETE', pathOf(kept))
      await until(async () => expect(await player.roles()).toEqual([]), 15)
      await merge(world.admin, kept, { metadata: { finalizers: null } })
    }
  })

  test('an edit that revokes a role removes it from status, also when managedFields were cleared', async () => {
    const before = await granted('cleared')
    await merge(world.mallory, before, { metadata: { managedFields: [{}] } })
    const after = await merge(world.mallory, before, { spec: { roles: [GATED[0]] } })
    await until(async () => {
      const { metadata, status } = await world.admin.do('GET', pathOf(before))
      expect(status.observedGeneration).toBe(after.body.metadata.generation)
      expect(status.granted).not.toHaveProperty('serving')
      expect(status.granted).toEqual(await world.storedGranted(metadata.uid))
    })
    await world.admin.do('DELETE', pathOf(before))
  })

  test(
    'no gated role in a token by writes through a version without a status subresource',
    { timeout: 300_000 },
    async () => {
      // With enforcement required, the operator would grant nothing in this gap.
      await world.grantWithoutPolicies()
      await serveLaxVersion(world.admin)
      const totals = await playSequences(40, {
        writes: [...MALLORYS, ...THROUGH_LAX, ...THROUGH_LAX],
        isEnforced: true,
      })
      expect(totals.withHarmless).toBeGreaterThan(0)
    },
  )

  test('without policies, the same writes obtain gated roles', { timeout: 300_000 }, async () => {
    await removePolicies(world.admin)
    const played = playSequences(100, { writes: MALLORYS, isEnforced: false })
    await expect(played).rejects.toThrow(new RegExp(`(${GATED.join('|')}) is in a token`))
  })

  async function untilEnforced(): Promise<void> {
    await until(async () => {
      const realm = await world.admin.do('GET', `${API}/namespaces/${HOME}/realms/${HOME}`)
      const conditions: { type: string; status: string }[] = realm.status.conditions
      expect(conditions.find(({ type }) => type === 'ApprovalEnforced')).toMatchObject({ status: 'True' })
    })
  }

  /** Repeats while the finalizer keeps the former object. */
  function request(name: string) {
    const subject = { kind: 'User', name: world.players[0]!.user }
    const body = assignment(name, { realmRef: { name: HOME }, subject, roles: [HARMLESS], requestedBy: 'mallory' })
    return until(() => world.mallory.do('POST', `${API}/namespaces/${HOME}/roleassignments`, body))
  }

  async function granted(name: string) {
    const asked = await request(name)
    await applyStatus(world.ann, asked, { approvals: [entry(asked, 'ann')] })
    await until(async () => expect(await world.players[0]!.roles()).toEqual([HARMLESS]))
    return asked
  }
})
