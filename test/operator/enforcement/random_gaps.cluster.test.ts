import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { RoleAssignmentResource } from '../../../operator/view/resource_types.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import { APPLY_PATCH, MERGE_PATCH } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { gapsOf, installPolicies, POLICY_NAMES, removePolicies, repairPolicies } from '../../support/policies.ts'
import { generator, pick } from '../../support/random.ts'
import { soak } from '../../support/soak.ts'
import { eventually } from '../operator_under_test.ts'
import { enforcementPlane, enforcementWorld } from './world.ts'
import type { EnforcementWorld, Running } from './world.ts'

const STEPS = soak(150, 6_000)
const SEED = 20_260_102
const NAMES = ['one', 'two', 'three', 'four']

/**
 * Frank and Ann request and approve at random; Frank also lies, which succeeds only in a gap. Gaps of every kind come and
 * go, and the operator restarts. Each grant was approved by an account that did not write that generation.
 */
describe('random writes across gaps', () => {
  let plane: ControlPlane
  let world: EnforcementWorld
  let running: Running
  let frank: Account
  let ann: Account
  const namespace = 'random-gaps'
  const base = `/apis/realmkeeper.io/v1alpha1/namespaces/${namespace}/roleassignments`
  /** Who really wrote each generation, and who really decided on it, by `uid/generation`. */
  const writers = new Map<string, string>()
  const deciders = new Map<string, Set<string>>()
  const story: string[] = []
  const random = generator(SEED)
  const choose = <Item>(items: readonly Item[]): Item => pick(items, random)

  beforeAll(async () => {
    plane = await enforcementPlane('ann', 'frank')
    ann = plane.user('ann')
    frank = plane.user('frank')
  })
  afterAll(() => plane?.stop())

  async function find(name: string): Promise<RoleAssignmentResource | undefined> {
    const { status, body } = await plane.admin.call('GET', `${base}/${name}`)
    return status === 200 ? body : undefined
  }

  /** Notes the true writer of the generation that a write made. */
  async function write(as: Account, method: string, path: string, body: object): Promise<void> {
    const options = method === 'PATCH' ? { contentType: MERGE_PATCH } : {}
    const answer = await as.call(method, path, body, options)
    if (answer.status >= 300) return
    const { uid, generation } = answer.body.metadata
    const key = `${uid}/${generation}`
    if (!writers.has(key)) writers.set(key, as.name)
    story.push(`${as.name} wrote ${answer.body.metadata.name} ${generation} as ${answer.body.spec.requestedBy}`)
  }

  async function request(as: Account, requestedBy: string, name = choose(NAMES)): Promise<void> {
    const spec = {
      realmRef: { name: namespace },
      subject: { kind: 'Group', name: `default-roles-${namespace}` },
      roles: ['reader'],
      requestedBy,
    }
    const head = { apiVersion: 'realmkeeper.io/v1alpha1', kind: 'RoleAssignment', metadata: { name } }
    await write(as, 'POST', base, { ...head, spec })
  }

  async function edit(as: Account, requestedBy: string, { keepsWriters }: { keepsWriters: boolean }): Promise<void> {
    const present = await find(choose(NAMES))
    if (!present) return
    const { requestedBy: former, formerRequesters = [] } = present.spec
    const names = new Set([...formerRequesters, former])
    names.delete(requestedBy)
    const spec = { requestedBy, reason: `${random()}`, formerRequesters: keepsWriters ? [...names] : null }
    await write(as, 'PATCH', `${base}/${present.metadata.name}`, { spec })
  }

  async function approve(as: Account, named = as.name, name = choose(NAMES)): Promise<void> {
    const present = await find(name)
    if (!present) return
    const { uid, generation } = present.metadata
    const entry = { approver: named, decision: 'Approved', observedGeneration: generation, observedUID: uid }
    const head = { apiVersion: 'realmkeeper.io/v1alpha1', kind: 'RoleAssignment', metadata: { name, namespace } }
    const path = `${base}/${name}/status?fieldManager=approver-${as.name}&force=true`
    const answer = await as.call(
      'PATCH',
      path,
      { ...head, status: { approvals: [entry] } },
      { contentType: APPLY_PATCH },
    )
    if (answer.status >= 300) return
    const key = `${uid}/${generation}`
    deciders.set(key, new Set([...(deciders.get(key) ?? []), as.name]))
    story.push(`${as.name} approved ${name} ${generation} as ${named}`)
    // Gives the operator the chance to grant it; a forged one stays without effect.
    for (let reads = 0; reads < 20; reads++) {
      const after = await find(name)
      const decided = [...(after?.status?.granted?.uncounted ?? []), ...(after?.status?.granted?.serving ? [{}] : [])]
      if (decided.length > 0) break
    }
  }

  /** One way to make a gap. Each leaves something that `repair` has to put back. */
  async function openGap(): Promise<void> {
    const name = choose(POLICY_NAMES.filter((each) => each.includes('roleassignment')))
    const [kind, open] = choose(gapsOf(plane.admin, name))
    story.push(`gap: ${name} ${kind}`)
    await open()
    // A policy acts for a moment after it was changed.
    const before = story.length
    for (let attempts = 0; attempts < 60 && story.length === before; attempts++) {
      if (name.endsWith('requests')) await edit(frank, 'carol', { keepsWriters: false })
      else await approve(frank, 'ann')
    }
  }

  /** By edits where objects are present, as an administrator does, or by a new installation. */
  async function repair(): Promise<void> {
    story.push('repaired')
    if (random() < 0.3) await removePolicies(plane.admin)
    await repairPolicies(plane.admin)
  }

  async function untilEnforced(): Promise<void> {
    await eventually(async () => {
      const { rows } = await world.database.pool.query('select gap_since from approval_enforcement')
      expect(rows).toEqual([{ gap_since: null }])
    })
  }

  /** A new request that another account approves. Its writers so far are forgotten with the former object. */
  async function honest(): Promise<void> {
    const name = choose(NAMES)
    await plane.admin.call('DELETE', `${base}/${name}`)
    await eventually(async () => expect(await find(name)).toBeUndefined())
    const [writer, approver] = random() < 0.5 ? ([ann, frank] as const) : ([frank, ann] as const)
    await request(writer, writer.name, name)
    // An approval before the operator has seen the request is void.
    for (let reads = 0; reads < 50 && !(await find(name))?.status?.granted?.resolvedAt; reads++);
    await approve(approver, approver.name, name)
  }

  const MOVES: [weight: number, move: () => Promise<unknown>][] = [
    [3, () => request(choose([ann, frank]), 'carol')],
    [4, () => (random() < 0.5 ? request(ann, 'ann') : request(frank, 'frank'))],
    [3, () => edit(frank, 'carol', { keepsWriters: false })],
    [2, () => edit(frank, 'frank', { keepsWriters: true })],
    [2, () => edit(ann, 'ann', { keepsWriters: true })],
    [6, () => approve(frank)],
    [4, () => approve(ann)],
    [2, () => approve(frank, 'ann')],
    [4, honest],
    [1.5, openGap],
    [1, repair],
    [2, untilRepaired],
    [0.5, restart],
  ]

  async function untilRepaired(): Promise<void> {
    await repair()
    await untilEnforced()
  }

  async function restart(): Promise<void> {
    story.push('restarted')
    await running.stop()
    if (random() < 0.5) await openGap()
    for (const as of [frank, ann]) await edit(as, 'carol', { keepsWriters: false })
    if (random() < 0.5) await repair()
    running = await world.start()
  }

  async function step(): Promise<void> {
    const total = MOVES.reduce((sum, [weight]) => sum + weight, 0)
    let at = random() * total
    const [, move] = MOVES.find(([weight]) => (at -= weight) < 0) ?? MOVES[0]!
    await move()
  }

  test(`row 138: ${STEPS} random writes`, { timeout: 60_000 + STEPS * 5_000 }, async () => {
    world = await enforcementWorld(plane, namespace)
    onTestFinished(() => world.end())
    await installPolicies(plane.admin)
    await world.createRealm()
    running = await world.start()
    await untilEnforced()
    for (let done = 0; done < STEPS; done++) await step()

    // Legitimate use still works.
    await untilRepaired()
    await plane.admin.call('DELETE', `${base}/last`)
    await world.request('last', { as: ann, requestedBy: 'ann' })
    const last = await world.read('last')
    writers.set(`${last.metadata.uid}/${last.metadata.generation}`, 'ann')
    await world.untilSaid('last', 'PendingApproval')
    deciders.set(`${last.metadata.uid}/${last.metadata.generation}`, new Set(['frank']))
    await world.approve('last', frank)
    await world.untilSaid('last', 'Granted')

    const { rows } = await world.database.pool.query<{ details: string }>(
      `select details from audit where action = 'roles_granted' order by at`,
    )
    const grants: { uid: string; grantedGeneration: number; approvers: string[] }[] = rows.map(({ details }) =>
      JSON.parse(details),
    )
    for (const { uid, grantedGeneration, approvers } of grants) {
      const key = `${uid}/${grantedGeneration}`
      const about = `${key}\n${story.join('\n')}`
      expect(writers.get(key), about).toBeDefined()
      expect(approvers.length, about).toBeGreaterThan(0)
      for (const approver of approvers) {
        expect(deciders.get(key)?.has(approver), `${approver} decided on ${about}`).toBe(true)
        expect(approver, `the writer of ${about}`).not.toBe(writers.get(key))
      }
    }
    // Proves that the run had gaps, lies that succeeded, and grants.
    const lies = story.filter((line) => line.endsWith(' as carol'))
    expect(lies.length).toBeGreaterThan(1)
    expect(grants.length).toBeGreaterThan(1)
    expect(story.filter((line) => line.startsWith('gap:')).length).toBeGreaterThan(1)
  })
})
