import { afterEach, beforeEach, expect, test } from 'vitest'
import { approvalWatch } from '../../../operator/enforcement/approval_watch.ts'
import type { ApprovalWatch } from '../../../operator/enforcement/approval_watch.ts'
import { HOLD_MILLIS, STALE_MILLIS } from '../../../operator/enforcement/judge.ts'
import type { RoleAssignmentResource } from '../../../operator/view/resource_types.ts'
import { storeAccess } from '../../../operator/rows/store_access.ts'
import { createLog } from '../../../process/log.ts'
import { takeEpoch } from '../../../store/operator_epoch.ts'
import { findRoleAssignmentByUid } from '../../../store/role_assignments.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { eventually } from '../operator_under_test.ts'
import { CRD, DECISIONS } from './shipped.ts'
import { assignmentWith, memoryPolicies } from './memory_policies.ts'
import type { MemoryPolicies } from './memory_policies.ts'

let database: TestDatabase
let policies: MemoryPolicies
let watches: ApprovalWatch[] = []
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
  await Promise.all(watches.map((watch) => watch.stop()))
  watches = []
  await database.drop()
})

/** A watch of a process that has just begun to lead. */
async function begin({ trustExisting = false } = {}): Promise<ApprovalWatch> {
  const watch = approvalWatch({
    access: policies,
    required: true,
    trustExisting,
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
  watches.push(watch)
  const epoch = await takeEpoch(database.pool, 'test')
  const store = storeAccess({ pool: database.pool, epoch, now: () => new Date(), auditWriter: 'operator/test' })
  await watch.begin({
    store,
    cached: () => cached,
    changed: () => (changes += 1),
    onDeposed: (error) => expect(error).toBe(0),
  })
  return watch
}

/** Time passes, with a check whenever one is due. */
async function pass(millis: number): Promise<void> {
  const end = time + millis
  for (;;) {
    const timer = await eventually(() => {
      if (!due) throw new Error('the check has not ended')
      return due
    })
    if (timer.at > end) break
    time = timer.at
    due = undefined
    timer.run()
  }
  time = end
}

async function enforcing(): Promise<ApprovalWatch> {
  const watch = await begin()
  await pass(HOLD_MILLIS)
  expect(watch.current()).toMatchObject({ mode: 'enforced', reason: 'Enforced', required: true })
  return watch
}

async function uncounted(uid = 'uid-1'): Promise<unknown> {
  const row = await findRoleAssignmentByUid<{ uncounted?: unknown }>(database.pool, uid)
  return row?.granted?.uncounted
}

const UNPROVEN = (approver: string, generation = 1) => ({ approver, generation, reason: 'DecisionUnproven' })

test('a new installation is a gap for ten seconds', async () => {
  const watch = await begin()
  expect(watch.current()).toMatchObject({ mode: 'gap', reason: 'RecentlyChanged', statusTrusted: false })
  await pass(HOLD_MILLIS - 2_000)
  expect(watch.current().mode).toBe('gap')
  expect(changes).toBe(0)
  await pass(2_000)
  expect(watch.current().mode).toBe('enforced')
  expect(changes).toBe(1)
})

test('what was proven is remembered by the next process', async () => {
  await enforcing()
  const next = await begin()
  expect(next.current()).toMatchObject({ mode: 'enforced' })
})

test('row 114: a failed trial is a gap, also for the next process, with policies that never changed', async () => {
  const watch = await enforcing()
  policies.assignments = [assignmentWith([])]
  policies.trial = { result: 'failed', why: 'it was accepted' }
  await pass(60_000)
  expect(watch.current()).toMatchObject({ mode: 'gap', reason: 'DecisionsNotRefused' })
  await watch.stop()
  policies.trial = undefined
  const next = await begin()
  expect(next.current().mode).toBe('gap')
  await pass(HOLD_MILLIS)
  expect(next.current().mode).toBe('enforced')
})

test('a refusal by another policy proves nothing', async () => {
  policies.assignments = [assignmentWith([])]
  policies.trial = { result: 'refused', policy: 'somebody-elses' }
  const watch = await begin()
  expect(watch.current()).toMatchObject({ mode: 'gap', reason: 'DecisionsNotRefused' })
  expect(watch.current().message).toContain('somebody-elses')
})

test('a change is seen when the watch tells', async () => {
  const watch = await enforcing()
  policies.objects.delete(`ValidatingAdmissionPolicyBinding/${DECISIONS}`)
  policies.change()
  await pass(0)
  await eventually(() => expect(watch.current()).toMatchObject({ mode: 'gap', reason: 'PoliciesDiffer' }))
})

test('decisions that are there when a gap ends are set aside, whether listed or still in hand', async () => {
  const watch = await enforcing()
  policies.reinstall()
  policies.assignments = [assignmentWith(['forged'])]
  cached = [assignmentWith(['in-hand'], { name: 'second', uid: 'uid-2' })]
  await pass(60_000)
  expect(watch.current().mode).toBe('gap')
  expect(await uncounted()).toBeUndefined()
  await pass(HOLD_MILLIS)
  expect(watch.current().mode).toBe('enforced')
  expect(await uncounted()).toEqual([UNPROVEN('forged')])
  expect(await uncounted('uid-2')).toEqual([UNPROVEN('in-hand')])
  const { rows } = await database.pool.query(`select details::json ->> 'reason' as reason from audit`)
  expect(rows).toEqual([{ reason: 'DecisionUnproven' }, { reason: 'DecisionUnproven' }])
})

test('policies that change while decisions are set aside do not end the gap', async () => {
  const watch = await begin()
  const list = policies.listAssignments.bind(policies)
  policies.listAssignments = async () => {
    policies.reinstall()
    policies.listAssignments = list
    return list()
  }
  await pass(HOLD_MILLIS)
  expect(watch.current().mode).toBe('gap')
  await pass(HOLD_MILLIS + 2_000)
  expect(watch.current().mode).toBe('enforced')
})

test('each proof reads policies and object anew, after it was asked for', async () => {
  const watch = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = [resource]
  policies.calls = []
  expect(await watch.current().prove(resource)).toMatchObject({ mode: 'enforced' })
  expect(policies.calls.filter((call) => call === 'read')).toHaveLength(9)
  expect(policies.calls).toContain('readAssignment')
  // No trial had been possible before there was an object.
  expect(policies.calls).toContain('try')

  policies.objects.delete(CRD)
  expect(await watch.current().prove(resource)).toMatchObject({ mode: 'gap' })
})

test('proofs that are asked for together share a look', async () => {
  const watch = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = [resource]
  await watch.current().prove(resource)
  policies.calls = []
  await Promise.all(Array.from({ length: 10 }, () => watch.current().prove(resource)))
  expect(policies.calls.filter((call) => call === 'read')).toHaveLength(9)
})

test('a look that had begun proves nothing about what is read later', async () => {
  const watch = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = [resource]
  await watch.current().prove(resource)

  const gate = Promise.withResolvers<void>()
  const read = policies.read.bind(policies)
  policies.read = async (name) => {
    const object = await read(name)
    await gate.promise
    return object
  }
  const early = watch.current().prove(resource)
  await eventually(() => expect(policies.calls.at(-1)).toBe('read'))
  policies.reinstall()
  const late = watch.current().prove(resource)
  gate.resolve()
  expect(await early).toMatchObject({ mode: 'enforced' })
  expect(await late).toMatchObject({ mode: 'gap' })
})

test('row 114: removed and put back between two checks is found by the proof', async () => {
  const watch = await enforcing()
  const resource = assignmentWith(['forged'])
  policies.assignments = [resource]
  policies.reinstall()
  expect(watch.current().mode).toBe('enforced')
  expect(await watch.current().prove(resource)).toMatchObject({ mode: 'gap', reason: 'RecentlyChanged' })
  expect(changes).toBeGreaterThan(1)
})

test.for<[string, (present: RoleAssignmentResource) => RoleAssignmentResource[]]>([
  ['a decision that was taken back', () => [assignmentWith([])]],
  ['another object of that name', () => [assignmentWith(['ann'], { uid: 'uid-9' })]],
  ['another generation', () => [assignmentWith(['ann'], { generation: 2 })]],
  [
    'an object that is going',
    () => [
      assignmentWith(['ann'], { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      assignmentWith([], { name: 'other', uid: 'uid-3' }),
    ],
  ],
  ['an object that is gone', () => [assignmentWith([], { name: 'other', uid: 'uid-3' })]],
])('row 110: %s is not decided on as it was read', async ([, now]) => {
  const watch = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = now(resource)
  await expect(watch.current().prove(resource)).rejects.toThrow('it changed since it was read')
})

test('where nothing could be tried, nothing is proven', async () => {
  const watch = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = [resource]
  policies.trial = { result: 'none' }
  await expect(watch.current().prove(resource)).rejects.toThrow('could not be tried')
})

test('silence proves nothing, and is no gap', async () => {
  const watch = await enforcing()
  const resource = assignmentWith(['ann'])
  policies.assignments = [resource]
  policies.isSilent = true
  await expect(watch.current().prove(resource)).rejects.toThrow('connection refused')
  expect(watch.current().mode).toBe('enforced')
  await pass(STALE_MILLIS + 60_000)
  expect(watch.current()).toMatchObject({ mode: 'unchecked', statusTrusted: false })
  policies.isSilent = false
  await pass(2_000)
  expect(watch.current().mode).toBe('enforced')
  expect(await uncounted()).toBeUndefined()
})

test('statuses are trusted once they were seen to agree with the rows', async () => {
  const forged = assignmentWith([])
  forged.status = { granted: { generation: 1, uncounted: [] } }
  policies.assignments = [forged]
  const watch = await enforcing()
  await pass(4_000)
  expect(watch.current().statusTrusted).toBe(false)
  policies.assignments = [assignmentWith([])]
  await pass(2_000)
  expect(watch.current().statusTrusted).toBe(true)
  policies.reinstall()
  await pass(60_000)
  expect(watch.current().statusTrusted).toBe(false)
})

test('an empty record is trusted where that is asked for', async () => {
  policies.assignments = [assignmentWith(['ann'])]
  const watch = await begin({ trustExisting: true })
  expect(watch.current()).toMatchObject({ mode: 'enforced', statusTrusted: true })
  expect(await uncounted()).toBeUndefined()
})
