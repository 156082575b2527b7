import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../support/control_plane/account.ts'
import { installPolicies } from '../support/policies.ts'
import { generator, pick } from '../support/random.ts'
import { soak } from '../support/soak.ts'
import { REFUSALS } from './attacks/attack.ts'
import { untilActing } from './probe.ts'
import { limited, WEAKENED } from './weakened.ts'
import { API, assignment, makeWorld, startCluster } from './world.ts'
import type { Cluster, Stored, World } from './world.ts'
import { applyStatus, condition, entry, merge, mergeLax, mergeStatus, pathOf } from './writes.ts'

const SEQUENCES = soak(40, 500)
const WRITES = 20
const SEED = 20_260_139

const GITOPS = 'system:serviceaccount:default:gitops'
/** They write requests: Dora and ANN may also approve, GitOps and AMY may submit for others. */
const WRITERS = ['dora', 'carol', 'mallory', 'ANN', 'gitops', 'AMY']
const SUBMIT_FOR_OTHERS = new Set([GITOPS, 'AMY'])
const APPROVERS = ['dora', 'ann', 'amy', 'ANN', 'greg']
const NAMES = ['dora', 'Dora', 'carol', 'mallory', 'ann', 'amy', 'ANN', 'AMY', 'platform', GITOPS]

/** What a reader of the object may rely on, kept from the accounts that made the writes. */
interface Reference {
  /** Accounts that wrote in their own name, and names that others claimed, since the last grant. */
  wrote: Set<string>
  /** Whether an account that submits for others wrote since the last grant. */
  claimed: boolean
}

/**
 * Random edits of one request by several accounts, with grants between them. Fails when an account decides that wrote
 * the request since its last grant, or when a claim looks like a proof.
 */
describe('random edits of requests by several accounts', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
  })
  afterAll(() => cluster?.stop())

  test.for([REFUSALS.writer, REFUSALS.dropsWriters, REFUSALS.firstHand])(
    'without the rule "%s", they find a writer who decides or a claim that looks like a proof',
    { timeout: 300_000 },
    async (refusal, { task }) => {
      const weakened = WEAKENED.find(({ name }) => name.startsWith('without ') && name.includes(refusal))!
      const id = `weak-${task.id.replaceAll('_', '-')}`.toLowerCase()
      const index = WEAKENED.indexOf(weakened)
      await installPolicies(cluster.admin, limited(weakened, index))
      const world = await makeWorld(cluster, id, { 'less-one-rule': `${index}` })
      await untilActing(world, weakened.acting)
      await expect(playAll(world, 200)).rejects.toThrow(/^Sequence /)
    },
  )

  // The last one: these policies apply to all namespaces.
  test(`row 139: no writer decides in ${SEQUENCES} random sequences`, { timeout: 3_600_000 }, async () => {
    await installPolicies(cluster.admin)
    const world = await makeWorld(cluster, 'rewrites')
    await untilActing(world)
    const totals = await playAll(world, SEQUENCES)
    // Proves that each kind of write was made, and refused.
    for (const count of Object.values(totals)) expect(count).toBeGreaterThan(SEQUENCES / 10)
  })

  async function playAll(world: World, count: number): Promise<Record<string, number>> {
    const totals = { edits: 0, refusedEdits: 0, decisions: 0, refusedDecisions: 0, proofs: 0, grants: 0 }
    let next = SEED
    const lane = async (): Promise<void> => {
      while (next < SEED + count) await play(world, next++, totals)
    }
    const lanes = Array.from({ length: 6 }, () =>
      lane().catch((error: unknown) => {
        next = SEED + count
        throw error
      }),
    )
    // All sequences end before the next test starts.
    await Promise.allSettled(lanes)
    await Promise.all(lanes)
    return totals
  }

  async function play(world: World, number: number, totals: Record<string, number>): Promise<void> {
    const random = generator(number)
    const story: string[] = []
    let object = await create(world, number, random)
    let reference = written({ wrote: new Set(), claimed: false }, object, String(object.metadata.annotations.by))

    for (let write = 0; write < WRITES; write++) {
      const chance = random()
      if (chance < 0.6) {
        const by = pick(WRITERS, random)
        const spec = randomSpec(by, object, random)
        const wasGranted = isGranted(object)
        const answer = await (random() < 0.9 ? merge : mergeLax)(world.who(by), object, { spec })
        note(`${by} writes ${JSON.stringify(spec)}`, answer, 'edits', 'refusedEdits')
        if (answer.status >= 300) continue
        // A write through another version answers in that version.
        const after = { ...answer.body, apiVersion: object.apiVersion }
        const isEdit = after.metadata.generation !== object.metadata.generation
        object = after
        if (isEdit)
          reference = written(wasGranted ? { wrote: new Set(), claimed: false } : reference, object, nameOf(by))
      } else if (chance < 0.9) {
        const by = pick(APPROVERS, random)
        const answer = await (random() < 0.5
          ? applyStatus(world.who(by), object, { approvals: [entry(object, by)] })
          : mergeStatus(world.who(by), object, { conditions: [condition(object, by)] }))
        note(`${by} approves`, answer, 'decisions', 'refusedDecisions')
        if (answer.status >= 300) continue
        object = answer.body
        const names = [by, ...(by === 'greg' ? ['platform'] : [])].map((name) => name.toLowerCase())
        const wrote = [...reference.wrote].map((name) => name.toLowerCase())
        expect(
          names.filter((name) => wrote.includes(name)),
          storyText(),
        ).toEqual([])
      } else {
        const answer = await applyStatus(world.who('operator'), object, { granted: randomGrant(object, random) })
        expect(answer.status, storyText()).toBe(200)
        object = answer.body
        story.push(`the operator writes ${JSON.stringify(object.status.granted)}`)
        if (isGranted(object)) totals['grants']!++
      }
      const { requestedBy, submittedBy } = object.spec
      if (requestedBy === submittedBy) {
        totals['proofs']!++
        expect(reference.claimed, storyText()).toBe(false)
      }
    }
    await world.cluster.admin.call('DELETE', pathOf(object))

    function note(what: string, { status, body }: Answer, passed: string, refused: string): void {
      story.push(`${what}: ${status} ${status < 300 ? '' : body.message}`)
      totals[status < 300 ? passed : refused]!++
    }
    function storyText(): string {
      return `Sequence ${number}:\n${story.join('\n')}`
    }
  }

  function create(world: World, number: number, random: () => number): Promise<Stored> {
    const by = pick(WRITERS, random)
    const own = nameOf(by)
    const submittedBy = random() < 0.5 && !SUBMIT_FOR_OTHERS.has(own) ? own : undefined
    const body = assignment('', { requestedBy: own, submittedBy })
    const metadata = { name: `rewritten-${number}`, annotations: { by: own } }
    return world.who(by).do('POST', `${API}/namespaces/${world.home}/roleassignments`, { ...body, metadata })
  }
})

/** The reference after a write. It knows the caller, as admission does and the operator does not. */
function written({ wrote, claimed }: Reference, { spec }: Stored, caller: string): Reference {
  const forOthers = SUBMIT_FOR_OTHERS.has(caller)
  return {
    wrote: new Set([...wrote, spec.requestedBy, ...(forOthers ? [] : [caller])]),
    // Without a proof, the next reader takes it for a claim.
    claimed: claimed || forOthers || spec.submittedBy !== spec.requestedBy,
  }
}

function randomSpec(by: string, { spec }: Stored, random: () => number): object {
  const own = nameOf(by)
  const others = [...new Set([...(spec.formerRequesters ?? []), spec.requestedBy, spec.submittedBy])].filter(
    (name) => name !== undefined && name !== own,
  )
  return {
    reason: `because ${random()}`,
    requestedBy: random() < 0.8 ? own : pick(NAMES, random),
    submittedBy: pick([null, null, own, own, pick(NAMES, random)], random),
    ...(random() < 0.8 && {
      formerRequesters: random() < 0.6 ? others : NAMES.filter(() => random() < 0.3),
    }),
  }
}

function isGranted({ metadata, status }: Stored): boolean {
  const { generation, serving, startsOver } = status?.granted ?? {}
  return (
    generation === metadata.generation &&
    serving?.generation === generation &&
    !serving.paused &&
    startsOver === undefined
  )
}

/** A grant of the present generation, or a status that only resembles one. */
function randomGrant({ metadata: { generation } }: Stored, random: () => number): object {
  const grant = { realmUID: 'r', roles: ['manager'], grantedAt: '2026-01-01T00:00:00Z', governed: true, approvers: [] }
  const earlier = Math.max(1, generation - 1)
  return pick<object>(
    [
      { generation, serving: { ...grant, generation } },
      { generation, serving: { ...grant, generation } },
      { generation, serving: { ...grant, generation: earlier, paused: generation === 1 } },
      { generation, serving: { ...grant, generation, paused: true } },
      { generation: generation + 1, serving: { ...grant, generation } },
      { generation, serving: { ...grant, generation }, startsOver: 'DecisionUnproven' },
      { generation, outcome: 'Denied' },
    ],
    random,
  )
}

function nameOf(writer: string): string {
  return writer === 'gitops' ? GITOPS : writer
}
