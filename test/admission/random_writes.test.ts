import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasControlPlane } from '../support/control_plane.ts'
import { decidedOn, surroundings } from './decided.ts'
import { GATED, generator, HARMLESS, MALLORYS, pick } from './mallory.ts'
import { installPolicies } from './policies.ts'
import { untilActing } from './probe.ts'
import { API, assignment, makeWorld, startCluster } from './world.ts'
import type { Cluster, Stored, World } from './world.ts'
import { applyStatus, condition, entry, mergeStatus, pathOf, ready } from './writes.ts'

const SEQUENCES = 500
const WRITES = 20
const AT_ONCE = 8
const SEED = 20_260_101

/**
 * Mallory may do everything with RoleAssignments and their status, except approve. Ann approves what asks for the
 * harmless role alone, by what she saw, which may be outdated by the time that she writes. The operator reports.
 */
describe.skipIf(!hasControlPlane())('random writes by a user with all rights but approve', () => {
  let cluster: Cluster
  let world: World
  beforeAll(async () => {
    cluster = await startCluster()
    world = await makeWorld(cluster, 'random')
  })
  afterAll(() => cluster?.stop())

  async function playSequences(numbers: { from: number; to: number }, totals: Totals): Promise<void> {
    let next = numbers.from
    async function lane(): Promise<void> {
      while (next < numbers.to) await play(world, next++, totals)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
  }

  test('the same writes get gated roles where there are no policies', async () => {
    const numbers = { from: SEQUENCES, to: SEQUENCES + 40 }
    await expect(playSequences(numbers, { passed: 0, refused: 0, granted: 0 })).rejects.toThrow(/ was granted in /)
  })

  test(`row 98: no gated role by ${SEQUENCES} sequences of ${WRITES} writes`, { timeout: 300_000 }, async () => {
    await installPolicies(cluster.admin)
    await untilActing(world)
    const totals = { passed: 0, refused: 0, granted: 0 }
    await playSequences({ from: 0, to: SEQUENCES }, totals)

    // Otherwise nothing was tried, or nothing could ever have been granted.
    expect(totals.passed).toBeGreaterThan(SEQUENCES)
    expect(totals.refused).toBeGreaterThan(SEQUENCES)
    expect(totals.granted).toBeGreaterThan(SEQUENCES / 10)
  })
})

interface Totals {
  passed: number
  refused: number
  granted: number
}

async function play(world: World, sequence: number, totals: Totals): Promise<void> {
  const random = generator(SEED + sequence)
  const around = surroundings(1)
  const memory = sequence % 2 === 0 ? 'row' : 'status'
  /** The reference: what Ann approved, as `uid/generation` and the roles that were asked for then. */
  const approved = new Map<string, string[]>()
  const { who, home } = world
  const mallory = who('mallory')
  const story: string[] = []

  const name = `sequence-${sequence}`
  let object: Stored = await create()
  let outdated: Stored = object

  async function create(): Promise<Stored> {
    const roles = random() < 0.5 ? [HARMLESS] : [pick(GATED, random)]
    const body = assignment(name, { roles, requestedBy: 'mallory' })
    return mallory.do('POST', `${API}/namespaces/${home}/roleassignments`, body)
  }

  function judge(): void {
    const { uid, generation } = object.metadata
    const decided = decidedOn(object, around, memory)
    const allowed = approved.get(`${uid}/${generation}`) ?? []
    const earlier = [...approved].filter(([key]) => key.startsWith(`${uid}/`)).flatMap(([, roles]) => roles)
    for (const { role } of decided.roles) {
      // Given by this generation's approval, or still listed since an earlier one's, of this very object.
      const isFine = object.spec.roles.includes(role) && [...allowed, ...earlier].includes(role)
      if (!isFine || GATED.includes(role))
        expect.fail(`${role} was granted in sequence ${sequence}:\n${story.join('\n')}`)
    }
    if (decided.roles.length > 0) totals.granted++
  }

  for (let write = 0; write < WRITES; write++) {
    const chosen = pick(MALLORYS, random)
    const seen = random() < 0.2 ? outdated : object
    const answer = await chosen({ mallory, object: seen, random })
    story.push(`${chosen.name} ${answer.status}`)
    if (answer.status < 300) totals.passed++
    else totals.refused++

    if (answer.status < 300 && answer.body.kind === 'RoleAssignment' && answer.body.apiVersion === object.apiVersion) {
      outdated = object
      object = answer.body
    } else if (answer.status < 300) {
      const present = await mallory.call('GET', pathOf(object))
      outdated = object
      object = present.status === 200 ? present.body : await create()
    }
    judge()
    await meanwhile()
  }

  /** What others do in between. */
  async function meanwhile(): Promise<void> {
    const chance = random()
    if (chance < 0.15) {
      const seen = random() < 0.3 ? outdated : object
      if (!seen.spec.roles.every((role: string) => role === HARMLESS)) return
      const { uid, generation } = seen.metadata
      const answer = await (random() < 0.5
        ? applyStatus(who('ann'), seen, { approvals: [entry(seen, 'ann')] })
        : mergeStatus(who('ann'), seen, { conditions: [condition(seen, 'ann')] }))
      story.push(`ann approves ${generation} ${answer.status}`)
      if (answer.status >= 300) return
      approved.set(`${uid}/${generation}`, seen.spec.roles)
      object = answer.body
      judge()
    } else if (chance < 0.35) {
      const { granted, ready: condition } = decidedOn(object, { ...around }, memory)
      const conditions = [ready(object, condition)]
      const status = { observedGeneration: object.metadata.generation, granted, conditions }
      const answer = await applyStatus(who('operator'), object, status)
      story.push(`the operator reports ${answer.status}`)
      if (answer.status < 300) object = answer.body
    }
  }
}
