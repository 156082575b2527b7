import { isDeepStrictEqual } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LeaderContext } from '../../../operator/enforcement/check_options.ts'
import { enforcementCheck } from '../../../operator/enforcement/enforcement_check.ts'
import type { EnforcementCheck } from '../../../operator/enforcement/enforcement_check.ts'
import { HOLD_MILLIS, STALE_MILLIS } from '../../../operator/enforcement/gap.ts'
import type { RoleAssignmentResource } from '../../../operator/view/resource_types.ts'
import type { ShippedSet } from '../../../operator/enforcement/release/shipped_set.ts'
import { PostgresAway, storeAccess } from '../../../operator/rows/store_access.ts'
import { createLog } from '../../../process/log.ts'
import { takeEpoch } from '../../../store/operator/epoch.ts'
import { findSpecProof } from '../../../store/operator/spec_proofs.ts'
import { findRoleAssignmentByUid } from '../../../store/role_assignments.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { eventually } from '../operator_under_test.ts'
import { formerObjects, FORMER_SET, PRESENT_SET, presentObjects } from './releases.ts'
import { CRD, DECISIONS } from './shipped.ts'
import { assignmentWith, memoryPolicies } from './memory_policies.ts'
import type { MemoryPolicies } from './memory_policies.ts'

let database: TestDatabase
let policies: MemoryPolicies
let checks: EnforcementCheck[] = []
let cached: RoleAssignmentResource[] = []
let changes = 0
let time = 0
let due: { at: number; run: () => void } | undefined

beforeEach(async () => {
  database = await testDatabase()
  policies = memoryPolicies()
  cached = []
  changes = 0
  time = 0
  due = undefined
})
afterEach(async () => {
  await Promise.all(checks.map((check) => check.stop()))
  checks = []
  await database.drop()
})

/** The check of a process that has just begun to lead. */
async function begin({
  trustExisting = false,
  set,
  wasRestored = () => false,
  isAway = () => false,
}: {
  trustExisting?: boolean
  set?: ShippedSet
  wasRestored?: () => boolean
  /** Whether a transaction fails. */
  isAway?: () => boolean
} = {}): Promise<EnforcementCheck> {
  const check = enforcementCheck({
    access: policies,
    required: true,
    trustExisting,
    ...(set && { set }),
    wasRestored,
    clock: {
      now: () => time,
      after(millis, run) {
        const timer = { at: time + millis, run }
        due = timer
        return () => {
          if (due === timer) due = undefined
        }
      },
    },
    log: createLog({ name: 'test', level: 'debug', destination: { write: () => undefined } }),
  })
  checks.push(check)
  const epoch = await takeEpoch(database.pool, 'test')
  const store = storeAccess({ pool: database.pool, epoch, now: () => new Date(), auditWriter: 'operator/test' })
  const leader: LeaderContext = {
    store: {
      ...store,
      transaction: (work) => (isAway() ? Promise.reject(new PostgresAway('')) : store.transaction(work)),
    },
    cached: () => cached,
    changed: () => (changes += 1),
    onDeposed: (error) => expect(error).toBe(0),
  }
  // As the start of a term: repeated until PostgreSQL answers.
  await check.begin(leader).catch(() => check.begin(leader))
  return check
}

/** Passes time and runs each check that becomes due. */
async function pass(millis: number): Promise<void> {
  const end = time + millis
  for (;;) {
    const timer = await eventually(() => {
      if (!due) throw new Error('the check is still running')
      return due
    })
    if (timer.at > end) break
    time = timer.at
    due = undefined
    timer.run()
  }
  time = end
}

async function enforcing(): Promise<EnforcementCheck> {
  const check = await begin()
  await pass(HOLD_MILLIS)
  expect(check.current()).toMatchObject({ mode: 'enforced', reason: 'Enforced', required: true })
  return check
}

async function uncounted(uid = 'uid-1'): Promise<unknown> {
  const row = await findRoleAssignmentByUid<{ uncounted?: unknown }>(database.pool, uid)
  return row?.granted?.uncounted
}

const UNPROVEN = (approver: string, generation = 1) => ({ approver, generation, reason: 'DecisionUnproven' })

test('a new installation is a gap for ten seconds', async () => {
  const check = await begin()
  expect(check.current()).toMatchObject({ mode: 'gap', reason: 'RecentlyChanged', statusTrusted: false })
  await pass(HOLD_MILLIS - 2_000)
  expect(check.current().mode).toBe('gap')
  expect(changes).toBe(0)
  await pass(2_000)
  expect(check.current().mode).toBe('enforced')
  expect(changes).toBe(1)
})

test('the next process continues with the recorded policies', async () => {
  await enforcing()
  const next = await begin()
  expect(next.current()).toMatchObject({ mode: 'enforced' })
})

test('row 114: a failed probe is a gap, also for the next process, although the policies never changed', async () => {
  const check = await enforcing()
  policies.assignments = [assignmentWith([])]
  policies.probeResult = { result: 'failed', why: 'it was accepted' }
  await pass(60_000)
  expect(check.current()).toMatchObject({ mode: 'gap', reason: 'DecisionsNotRefused' })
  await check.stop()
  policies.probeResult = undefined
  const next = await begin()
  expect(next.current().mode).toBe('gap')
  await pass(HOLD_MILLIS)
  expect(next.current().mode).toBe('enforced')
})

test('a refusal by another policy is a failed check', async () => {
  policies.assignments = [assignmentWith([])]
  policies.probeResult = { result: 'refused', policy: 'another-policy' }
  const check = await begin()
  expect(check.current()).toMatchObject({ mode: 'gap', reason: 'DecisionsNotRefused' })
  expect(check.current().message).toContain('another-policy')
})

test('a watch event starts a check', async () => {
  const check = await enforcing()
  policies.objects.delete(`ValidatingAdmissionPolicyBinding/${DECISIONS}`)
  policies.change()
  await pass(0)
  await eventually(() => expect(check.current()).toMatchObject({ mode: 'gap', reason: 'PoliciesDiffer' }))
})

test('decisions present when a gap ends become unproven, whether listed or cached', async () => {
  const check = await enforcing()
  policies.reinstall()
  policies.assignments = [assignmentWith(['forged'])]
  cached = [assignmentWith(['in-hand'], { name: 'second', uid: 'uid-2' })]
  await pass(60_000)
  expect(check.current().mode).toBe('gap')
  expect(await uncounted()).toBeUndefined()
  await pass(HOLD_MILLIS)
  expect(check.current().mode).toBe('enforced')
  expect(await uncounted()).toEqual([UNPROVEN('forged')])
  expect(await uncounted('uid-2')).toEqual([UNPROVEN('in-hand')])
  const { rows } = await database.pool.query(`select details::json ->> 'reason' as reason from audit`)
  expect(rows).toEqual([{ reason: 'DecisionUnproven' }, { reason: 'DecisionUnproven' }])
})

test('a process that ends while specs are marked leaves the gap to the next one', async () => {
  const check = await enforcing()
  policies.reinstall()
  policies.assignments = [assignmentWith([]), assignmentWith(['forged'], { name: 'second', uid: 'uid-2' })]
  const list = policies.listAssignments.bind(policies)
  policies.listAssignments = async () => {
    const listed = await list()
    // The first was marked; the second cannot be read any more.
    return [listed[0]!, { ...listed[1]!, status: null as never }]
  }
  await pass(60_000 + HOLD_MILLIS)
  expect(check.current().mode).toBe('gap')
  await check.stop()
  expect((await findSpecProof(database.pool, 'uid-1'))?.proven).toBe(false)

  policies.listAssignments = list
  const next = await begin()
  expect(next.current().mode).toBe('gap')
  await pass(HOLD_MILLIS)
  expect(next.current().mode).toBe('enforced')
  expect((await findSpecProof(database.pool, 'uid-2'))?.proven).toBe(false)
  expect(await uncounted('uid-2')).toEqual([UNPROVEN('forged')])
})

test.for<[string, string[] | null, string[] | null, 'gap' | 'enforced']>([
  ['the same namespaces', ['a', 'b'], ['a', 'b'], 'enforced'],
  ['fewer namespaces', ['a', 'b'], ['a'], 'enforced'],
  ['another namespace', ['a'], ['a', 'b'], 'gap'],
  ['all namespaces', ['a'], null, 'gap'],
  ['one namespace in place of all', null, ['a'], 'enforced'],
])('%s: requests that no gap could mark before are unproven', async ([, before, after, mode]) => {
  policies.scope = before
  const check = await enforcing()
  await check.stop()
  policies.scope = after
  policies.assignments = [assignmentWith([])]
  const next = await begin()
  expect(next.current().mode).toBe(mode)
  await pass(HOLD_MILLIS)
  expect(next.current().mode).toBe('enforced')
  expect((await findSpecProof(database.pool, 'uid-1'))?.proven).toBe(mode === 'gap' ? false : undefined)
})

/** True for the first call. */
function once(): () => boolean {
  let calls = 0
  return () => ++calls === 1
}

test.for<[string, boolean]>([
  ['a former gap', false],
  ['a former gap, while the database is away at first,', true],
])('attack: a request from %s that a restore of etcd brings back is unproven', async ([, isAwayAtFirst]) => {
  const check = await enforcing()
  await check.stop()
  policies.assignments = [assignmentWith(['ann'])]
  const next = await begin({ wasRestored: once(), ...(isAwayAtFirst && { isAway: once() }) })
  expect(next.current().mode).toBe('gap')
  await pass(HOLD_MILLIS)
  expect(next.current().mode).toBe('enforced')
  expect((await findSpecProof(database.pool, 'uid-1'))?.proven).toBe(false)
  expect(await uncounted()).toEqual([UNPROVEN('ann')])
})

test('a scope that was narrow for a while is wider than what the last gap marked', async () => {
  const check = await enforcing()
  await check.stop()
  policies.scope = ['a']
  const narrow = await begin()
  await narrow.stop()
  policies.scope = null
  expect((await begin()).current().mode).toBe('gap')
})

test('policies that change while decisions are marked do not end the gap', async () => {
  const check = await begin()
  const list = policies.listAssignments.bind(policies)
  policies.listAssignments = async () => {
    policies.reinstall()
    policies.listAssignments = list
    return list()
  }
  await pass(HOLD_MILLIS)
  expect(check.current().mode).toBe('gap')
  await pass(HOLD_MILLIS + 2_000)
  expect(check.current().mode).toBe('enforced')
})

test('each proof reads policies and object after the call', async () => {
  const check = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = [resource]
  policies.calls = []
  expect(await check.current().prove(resource)).toMatchObject({ mode: 'enforced' })
  expect(policies.calls.filter((call) => call === 'read')).toHaveLength(10)
  expect(policies.calls).toContain('readAssignment')
  // Before the RoleAssignment existed, no probe was possible.
  expect(policies.calls).toContain('probe')

  policies.objects.delete(CRD)
  expect(await check.current().prove(resource)).toMatchObject({ mode: 'gap' })
})

test('simultaneous proofs share one check', async () => {
  const check = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = [resource]
  await check.current().prove(resource)
  policies.calls = []
  await Promise.all(Array.from({ length: 10 }, () => check.current().prove(resource)))
  expect(policies.calls.filter((call) => call === 'read')).toHaveLength(10)
})

test('a check that began earlier proves nothing about a later read', async () => {
  const check = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = [resource]
  await check.current().prove(resource)

  const gate = Promise.withResolvers<void>()
  const read = policies.read.bind(policies)
  policies.read = async (name) => {
    const object = await read(name)
    await gate.promise
    return object
  }
  const early = check.current().prove(resource)
  await eventually(() => expect(policies.calls.at(-1)).toBe('read'))
  policies.reinstall()
  const late = check.current().prove(resource)
  gate.resolve()
  expect(await early).toMatchObject({ mode: 'enforced' })
  expect(await late).toMatchObject({ mode: 'gap' })
})

test('row 114: the proof finds policies that were removed and installed again between two checks', async () => {
  const check = await enforcing()
  const resource = assignmentWith(['forged'])
  policies.assignments = [resource]
  policies.reinstall()
  expect(check.current().mode).toBe('enforced')
  expect(await check.current().prove(resource)).toMatchObject({ mode: 'gap', reason: 'RecentlyChanged' })
  expect(changes).toBeGreaterThan(1)
})

test.for<[string, (present: RoleAssignmentResource) => RoleAssignmentResource[]]>([
  ['a removed decision', () => [assignmentWith([])]],
  ['another object of that name', () => [assignmentWith(['ann'], { uid: 'uid-9' })]],
  ['another generation', () => [assignmentWith(['ann'], { generation: 2 })]],
  [
    'an object that is being deleted',
    () => [
      assignmentWith(['ann'], { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      assignmentWith([], { name: 'other', uid: 'uid-3' }),
    ],
  ],
  ['a deleted object', () => [assignmentWith([], { name: 'other', uid: 'uid-3' })]],
])('row 110: a proof refuses %s', async ([, now]) => {
  const check = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = now(resource)
  await expect(check.current().prove(resource)).rejects.toThrow('the RoleAssignment changed since it was read')
})

test('without a probe, a proof waits', async () => {
  const check = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = [resource]
  policies.probeResult = { result: 'none' }
  await expect(check.current().prove(resource)).rejects.toThrow('could not probe admission')
})

test('no answer proves nothing and is no gap', async () => {
  const check = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = [resource]
  policies.isUnreachable = true
  await expect(check.current().prove(resource)).rejects.toThrow('connection refused')
  expect(check.current().mode).toBe('enforced')
  await pass(STALE_MILLIS + 60_000)
  expect(check.current()).toMatchObject({ mode: 'unchecked', statusTrusted: false })
  policies.isUnreachable = false
  await pass(2_000)
  expect(check.current().mode).toBe('enforced')
  expect(await uncounted()).toBeUndefined()
})

test('statuses are trusted once they equal the rows', async () => {
  const forged = assignmentWith([])
  forged.status = { granted: { generation: 1, uncounted: [] } }
  policies.assignments = [forged]
  const check = await enforcing()
  await pass(4_000)
  expect(check.current().statusTrusted).toBe(false)
  policies.assignments = [assignmentWith([])]
  await pass(2_000)
  expect(check.current().statusTrusted).toBe(true)
  policies.reinstall()
  await pass(60_000)
  expect(check.current().statusTrusted).toBe(false)
})

test('trustExisting trusts an empty record', async () => {
  policies.assignments = [assignmentWith(['ann'])]
  const check = await begin({ trustExisting: true })
  expect(check.current()).toMatchObject({ mode: 'enforced', statusTrusted: true })
  expect(await uncounted()).toBeUndefined()
})

/** Installs objects: the first time, or by one edit of each that differs. */
function install(objects: ReturnType<typeof presentObjects>): void {
  for (const { kind, metadata, spec } of objects) {
    const present = policies.objects.get(`${kind}/${metadata.name}`)!
    const stored = kind === 'CustomResourceDefinition' ? { conversion: { strategy: 'None' }, ...spec } : spec
    if (isDeepStrictEqual(present.spec, stored)) continue
    present.spec = stored
    present.metadata.generation += 1
  }
}

/** An operator of the former release, with a waiting request, and decisions that are not recorded yet. */
async function formerRelease(): Promise<EnforcementCheck> {
  install(formerObjects())
  const check = await begin({ set: FORMER_SET })
  await pass(HOLD_MILLIS)
  expect(check.current().mode).toBe('enforced')
  policies.assignments = [assignmentWith(['ann'])]
  return check
}

async function expectNothingMarked(): Promise<void> {
  expect(await uncounted()).toBeUndefined()
  expect(await findSpecProof(database.pool, 'uid-1')).toBeUndefined()
}

test('an upgrade while no operator runs is no gap', async () => {
  const check = await formerRelease()
  await check.stop()
  install(presentObjects())
  const next = await begin({ set: PRESENT_SET })
  expect(next.current().mode).toBe('enforced')
  await expectNothingMarked()
  // The new proof is recorded.
  await next.stop()
  expect((await begin({ set: PRESENT_SET })).current().mode).toBe('enforced')
})

test('an upgrade is no gap for the new operator, although the former one saw policies that it does not know', async () => {
  const check = await formerRelease()
  install(presentObjects())
  await pass(60_000)
  expect(check.current()).toMatchObject({ mode: 'gap', reason: 'PoliciesDiffer' })
  const next = await begin({ set: PRESENT_SET })
  expect(next.current().mode).toBe('enforced')
  await expectNothingMarked()
})

test('attack: a restore of etcd during an upgrade is a gap', async () => {
  const check = await formerRelease()
  install(presentObjects())
  await pass(60_000)
  expect(check.current()).toMatchObject({ mode: 'gap', reason: 'PoliciesDiffer' })
  const next = await begin({ set: PRESENT_SET, wasRestored: once() })
  expect(next.current().mode).toBe('gap')
  await pass(HOLD_MILLIS)
  expect(await uncounted()).toEqual([UNPROVEN('ann')])
})

test('an upgrade is no gap for a new operator that leads before the policies are replaced', async () => {
  const check = await formerRelease()
  await check.stop()
  const next = await begin({ set: PRESENT_SET })
  expect(next.current()).toMatchObject({ mode: 'gap', reason: 'PoliciesDiffer' })
  install(presentObjects())
  await pass(2_000)
  expect(next.current().mode).toBe('enforced')
  await expectNothingMarked()
})

test('a former operator that leads for a moment after the upgrade makes no gap', async () => {
  const check = await formerRelease()
  await check.stop()
  install(presentObjects())
  await (await begin({ set: PRESENT_SET })).stop()
  const former = await begin({ set: FORMER_SET })
  expect(former.current().mode).toBe('gap')
  await former.stop()
  expect((await begin({ set: PRESENT_SET })).current().mode).toBe('enforced')
  await expectNothingMarked()
})

test.for<[string, () => void]>([
  [
    'a policy that was open for a moment',
    () => {
      const { metadata } = policies.objects.get(`ValidatingAdmissionPolicy/${DECISIONS}`)!
      metadata.generation += 2
    },
  ],
  ['policies that were deleted and created again', () => policies.reinstall()],
])('an upgrade with %s is a gap', async ([, attack]) => {
  const check = await formerRelease()
  await check.stop()
  install(presentObjects())
  attack()
  const next = await begin({ set: PRESENT_SET })
  expect(next.current()).toMatchObject({ mode: 'gap', reason: 'RecentlyChanged' })
  await pass(HOLD_MILLIS)
  expect(next.current().mode).toBe('enforced')
  expect(await uncounted()).toEqual([UNPROVEN('ann')])
  expect((await findSpecProof(database.pool, 'uid-1'))?.proven).toBe(false)
})

test('an upgrade during a gap that uids and generations do not show is a gap', async () => {
  const check = await formerRelease()
  policies.probeResult = { result: 'failed', why: 'it was accepted' }
  await pass(60_000)
  expect(check.current()).toMatchObject({ mode: 'gap', reason: 'DecisionsNotRefused' })
  policies.probeResult = undefined
  await check.stop()
  install(presentObjects())
  const next = await begin({ set: PRESENT_SET })
  expect(next.current().mode).toBe('gap')
  await pass(HOLD_MILLIS)
  expect(await uncounted()).toEqual([UNPROVEN('ann')])
})

test('decisions that are not refused during an upgrade make it a gap', async () => {
  const check = await formerRelease()
  install(presentObjects())
  await pass(60_000)
  expect(check.current()).toMatchObject({ mode: 'gap', reason: 'PoliciesDiffer' })
  await check.stop()
  policies.probeResult = { result: 'failed', why: 'it was accepted' }
  const next = await begin({ set: PRESENT_SET })
  expect(next.current()).toMatchObject({ mode: 'gap', reason: 'DecisionsNotRefused' })
  policies.probeResult = undefined
  await pass(2_000)
  expect(next.current()).toMatchObject({ mode: 'gap', reason: 'RecentlyChanged' })
  await pass(HOLD_MILLIS)
  expect(next.current().mode).toBe('enforced')
  expect(await uncounted()).toEqual([UNPROVEN('ann')])
})
