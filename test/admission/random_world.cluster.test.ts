import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_PATH, until } from '../end_to_end/cluster/cluster_world.ts'
import { MERGE_PATCH } from '../support/control_plane/account.ts'
import type { Account, Answer } from '../support/control_plane/account.ts'
import { gapsOf, POLICY_NAMES, repairPolicies } from '../support/policies.ts'
import { generator, pick } from '../support/random.ts'
import { soak } from '../support/soak.ts'
import { GATED, HARMLESS, MALLORYS } from './mallory.ts'
import type { Turn, Write } from './mallory.ts'
import { noTotals, play } from './random_sequence.ts'
import { HOME, REALM_SPEC, tokenWorld } from './token_world.ts'
import type { TokenWorld } from './token_world.ts'
import { API, assignment } from './world.ts'
import type { Stored } from './world.ts'
import { applyStatus, condition, entry, merge, mergeStatus } from './writes.ts'

const SEQUENCES = soak(24, 500)
const LANES = Array.from({ length: 8 }, (_, index) => `lane-${index}`)
const SEED = 20_261_122

const REALM = `${API}/namespaces/${HOME}/realms/${HOME}`

/** Edits by others. Dora may approve, and approves what she wrote herself; in a gap she may name another requester. */
function editsByOthers(carol: Account, dora: Account): Write[] {
  async function edit({ object, random }: Turn, writer: Account, requestedBy: string, role: string): Promise<Answer> {
    const { requestedBy: former, formerRequesters: earlier = [] } = object.spec
    const others = new Set<string>([...earlier, former])
    others.delete(requestedBy)
    const formerRequesters = random() < 0.7 ? [...others] : null
    // The reason makes each edit a generation that its writer must not approve.
    const spec = { roles: [role], requestedBy, formerRequesters, reason: `because ${random()}` }
    return merge(writer, object, { spec })
  }
  return [
    function carolEdits(turn) {
      return edit(turn, carol, 'carol', pick([HARMLESS, ...GATED], turn.random))
    },
    async function doraApprovesHerOwn(turn) {
      const { random } = turn
      const edited = await edit(turn, dora, pick(['dora', 'carol', 'mallory'], random), pick(GATED, random))
      if (edited.status >= 300) return edited
      const written = edited.body
      return random() < 0.5
        ? applyStatus(dora, written, { approvals: [entry(written, 'dora')] })
        : mergeStatus(dora, written, { conditions: [condition(written, 'dora')] })
    },
  ]
}

/** What an author without the right to approve does to the Realm. Refused, or without effect. */
const REALM_WRITES: ((turn: Pick<Turn, 'mallory' | 'random'>) => Promise<unknown>)[] = [
  async function recreatesRealm({ mallory, random }) {
    await mallory.call('DELETE', REALM)
    const identityGovernance = pick([{ enabled: false }, REALM_SPEC.identityGovernance], random)
    await createRealm(mallory, { ...REALM_SPEC, identityGovernance })
  },
  ({ mallory }) => patchRealm(mallory, { identityGovernance: { enabled: false } }),
  ({ mallory }) => patchRealm(mallory, { deletionPolicy: 'Delete' }),
  ({ mallory }) => patchRealm(mallory, { roles: [{ name: HARMLESS }], fieldEncryption: null }),
  ({ mallory }) => patchRealm(mallory, { allowedNamespaces: { from: 'All' } }),
]

function patchRealm(as: Account, spec: object): Promise<unknown> {
  return as.call('PATCH', REALM, { spec }, { contentType: MERGE_PATCH })
}

/** Waits a moment for a former Realm to be gone. */
async function createRealm(as: Account, spec: object): Promise<void> {
  const body = { apiVersion: 'realmkeeper.io/v1alpha1', kind: 'Realm', metadata: { name: HOME }, spec }
  for (let tries = 0; tries < 40; tries++) {
    const { status } = await as.call('POST', REALM.slice(0, REALM.lastIndexOf('/')), body)
    if (status !== 409) return
    await sleep(50)
  }
}

/** Random writes by Mallory and others while policies, Realm, operator and etcd change. */
describe('random writes in a changing world', () => {
  let world: TokenWorld
  const random = generator(SEED)
  const gate = createGate()
  const story: string[] = []
  let backup: string | undefined
  beforeAll(async () => {
    world = await tokenWorld(LANES)
  })
  afterAll(() => world?.end())

  async function startOperator(...args: string[]): Promise<void> {
    await world.admin.call('DELETE', LEASE_PATH)
    world.cluster.operator = await world.cluster.startOperator({ args })
  }

  async function metrics(): Promise<string> {
    return (await fetch(`${world.cluster.operator.healthUrl}/metrics`)).text()
  }

  const untilEnforced = (): Promise<void> =>
    until(async () => expect(await metrics()).toContain('realmkeeper_approval_enforcement_state{state="enforced"} 1'))

  /** Opens a gap in one policy, with writes to the Realm in it. Resolves when the policies are back. */
  async function gap(meanwhile?: () => Promise<void>): Promise<void> {
    const name = pick(POLICY_NAMES, random)
    const [how, open] = pick(gapsOf(world.admin, name), random)
    story.push(`gap: ${name} ${how}`)
    await open()
    // A policy acts for up to a second after it was changed.
    await sleep(500 + random() * 1_500)
    await pick(REALM_WRITES, random)({ mallory: world.mallory, random })
    await meanwhile?.()
    await sleep(random() * 1_000)
    await repair()
  }

  /** The shipped policies and the Realm as its owner wants it. */
  async function repair(): Promise<void> {
    await repairPolicies(world.admin)
    await createRealm(world.admin, REALM_SPEC)
    await patchRealm(world.admin, { deletionPolicy: null, allowedNamespaces: null, ...REALM_SPEC })
    story.push('repaired')
  }

  const MOVES: (() => Promise<void>)[] = [
    () => gap(),
    async function gapWhileTheOperatorIsAway() {
      await world.cluster.operator.kill()
      await gap()
      await startOperator()
    },
    async function killInAGap() {
      await gap(async () => {
        await world.cluster.operator.kill()
        await startOperator()
      })
    },
    async function kill() {
      await world.cluster.operator.kill()
      await sleep(random() * 2_000)
      await startOperator()
    },
    async function suspend() {
      world.cluster.operator.signal('SIGSTOP')
      await sleep(random() * 3_000)
      world.cluster.operator.signal('SIGCONT')
    },
    async function changeScope() {
      const scope = pick([HOME, 'elsewhere'], random)
      story.push(`scope: ${scope}`)
      await world.cluster.operator.stop()
      await startOperator(`--watch-namespaces=${scope}`)
      await sleep(3_000)
      await world.cluster.operator.stop()
      await startOperator()
    },
    async function recreateRealm() {
      for (const write of REALM_WRITES) await write({ mallory: world.mallory, random })
    },
    async function restoreEtcd() {
      await gate.alone(async () => {
        backup ??= world.cluster.plane.backup()
        await world.cluster.plane.restore(backup, { writesOfOthers: pick([0, 1_000], random) })
        backup = undefined
      })
      await repair()
    },
    async function backUp() {
      backup = world.cluster.plane.backup()
    },
  ]

  /** Each kind of change once, then changes at random until `areOver`. Between some of them requests can be granted. */
  async function change(areOver: () => boolean): Promise<void> {
    for (let next = 0; next < MOVES.length || !areOver(); next++) {
      const move = MOVES[next] ?? pick(MOVES, random)
      story.push(move.name || 'gap')
      await move()
      if (random() < 0.3) continue
      await untilEnforced()
      await sleep(2_000 + random() * 4_000)
    }
  }

  test(
    `row 98: no gated role in a token by ${SEQUENCES} random sequences or more`,
    { timeout: 4 * 3_600_000 },
    async () => {
      const totals = noTotals()
      const others = editsByOthers(world.cluster.plane.user('carol'), world.cluster.plane.user('dora'))
      const writes = [...MALLORYS, ...others, ...others, ...others]
      let next = 0
      const changes = new AbortController()
      async function lane(player: TokenWorld['players'][number]): Promise<void> {
        while (!changes.signal.aborted) {
          const number = SEED + next++
          await gate.enter()
          let restores = gate.restores()
          async function turn(): Promise<boolean> {
            gate.leave()
            await gate.enter()
            const before = restores
            restores = gate.restores()
            return restores !== before
          }
          try {
            const patient = { ...player, roles: () => player.rolesIfAny() }
            await play(world, patient, { number, writes, isEnforced: false, turn }, totals)
          } catch (error) {
            throw new Error(`The world:\n${story.slice(-20).join('\n')}\n${String(error)}`, { cause: error })
          } finally {
            gate.leave()
          }
        }
      }
      let hasFailed = false
      const lanes = world.players.map((player) =>
        lane(player).catch((error: unknown) => {
          hasFailed = true
          throw error
        }),
      )
      const results = Promise.allSettled(lanes)
      await change(() => next >= SEQUENCES || hasFailed)
      changes.abort()
      expect((await results).filter(({ status }) => status === 'rejected')).toEqual([])

      // Also checks grants that lasted only a moment, and what the story would not show.
      const grants = await world.grants()
      expect(grants.filter(({ generationOf }) => !totals.approved.has(generationOf))).toEqual([])
      expect(new Set(grants.flatMap(({ roles }) => roles))).toEqual(new Set([HARMLESS]))
      expect(new Set(grants.flatMap(({ approvers }) => approvers))).toEqual(new Set(['ann']))
      expect(totals.passed).toBeGreaterThan(SEQUENCES)
      expect(totals.refused).toBeGreaterThan(SEQUENCES)
    },
  )

  test('legitimate use works in the end', async () => {
    await repair()
    await untilEnforced()
    const [player] = world.players
    const body = assignment('last', {
      realmRef: { name: HOME },
      subject: { kind: 'User', name: player!.user },
      roles: [HARMLESS],
      requestedBy: 'mallory',
    })
    const path = `${API}/namespaces/${HOME}/roleassignments`
    const asked: Stored = await world.mallory.do('POST', path, body)
    await until(async () => {
      const { status } = await world.admin.do('GET', `${path}/last`)
      expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', reason: 'PendingApproval' }))
    })
    await applyStatus(world.ann, asked, { approvals: [entry(asked, 'ann')] })
    await until(async () => expect(await player!.rolesIfAny()).toEqual([HARMLESS]))
  })
})

/** Lets sequences write at the same time, and a restore of etcd run alone. */
function createGate() {
  let inside = 0
  let restores = 0
  let opening = Promise.resolve()
  const isEmpty = (): boolean => inside === 0
  return {
    restores: () => restores,
    /** At most one restore waits: only one part of the test makes them. */
    async enter(): Promise<void> {
      await opening
      inside++
    },
    leave(): void {
      inside--
    },
    async alone(work: () => Promise<void>): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      opening = promise
      try {
        while (!isEmpty()) await sleep(20)
        await work()
        restores++
      } finally {
        resolve()
      }
    },
  }
}
