import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { defaultAndValidate } from '../../../crds/validation/validation.ts'
import { decide } from '../../../operator/role_assignment/decide.ts'
import { parseGranted } from '../../../operator/role_assignment/granted.ts'
import type { Granted } from '../../../operator/role_assignment/granted.ts'
import type {
  Assignment,
  AuditNote,
  DecisionResult,
  DecisionInput,
  Enforcement,
  RealmForAssignment,
  RecordedDecision,
  UserForAssignment,
} from '../../../operator/role_assignment/decision.ts'
import type { SpecState } from '../../../operator/role_assignment/spec_state.ts'
import type { StatusDecision } from '../../../operator/role_assignment/status_decisions.ts'

export type Realm = Extract<RealmForAssignment, { admitted: true }>

/** Everything around one RoleAssignment, as plain data that a test may change in any way. */
export interface World {
  assignment: Assignment
  decisions: StatusDecision[]
  recorded: RecordedDecision[]
  row: Granted | undefined
  status: Granted | undefined
  statusTrusted: boolean
  spec: SpecState
  realm: Realm
  refused: Extract<RealmForAssignment, { admitted: false }> | undefined
  user: UserForAssignment | undefined
  enforcement: Enforcement
  now: Date
  audit: AuditNote[]
  /** Whether each status is validated against the schema; most random sequences leave this out. */
  schemaChecked: boolean
}

export const START = '2026-01-01T00:00:00.000Z'

/** `carol` asks that `alice` be a manager (which is an editor and a viewer) in a realm where one approval is enough. */
export function world(): World {
  return {
    assignment: {
      uid: 'assignment-1',
      generation: 1,
      namespace: 'acme',
      name: 'alice-manager',
      deleting: false,
      subject: { kind: 'User', name: 'alice' },
      roles: ['manager'],
      requestedBy: 'carol',
      submittedBy: 'carol',
    },
    decisions: [],
    recorded: [],
    row: undefined,
    status: undefined,
    statusTrusted: true,
    spec: 'proven',
    realm: {
      admitted: true,
      uid: 'realm-1',
      namespace: 'acme',
      name: 'acme',
      governance: { enabled: true, requiredApprovals: 1 },
      roles: [
        { name: 'manager', composites: ['editor', 'viewer'] },
        { name: 'editor', composites: ['viewer'] },
        { name: 'viewer' },
        { name: 'auditor' },
      ],
      fieldRoles: ['_svc_dob.selfencrypt', '_svc_dob.selfdecrypt'],
    },
    refused: undefined,
    user: { uid: 'user-1', sub: 'sub-of-alice', realmUid: 'realm-1' },
    enforcement: { mode: 'enforced', required: true },
    now: new Date(START),
    audit: [],
    schemaChecked: true,
  }
}

export function inputOf(world: World): DecisionInput {
  const { assignment, decisions, recorded, row, status, statusTrusted, spec, realm, refused, user, enforcement, now } =
    world
  const stored = { row, status, statusTrusted }
  return structuredClone({
    assignment,
    decisions,
    recorded,
    stored,
    spec,
    realm: refused ?? realm,
    user,
    enforcement,
    now,
  })
}

/** One reconcile: decides and stores the result. A second call must find nothing to do. */
export function reconcile(world: World): DecisionResult {
  const answer = decide(inputOf(world))
  storeResult(world, answer)

  const { granted, ready, roles } = answer
  same(decide(inputOf(world)), { granted, ready, roles, audit: [], newDecisions: [] })

  const dropped = new Set(answer.dropApprovals)
  world.decisions = world.decisions.filter(({ form, approver }) => form === 'condition' || !dropped.has(approver))
  return answer
}

/** A second decision has the same result, without transitions and new decisions. */
function same(again: DecisionResult, expected: Partial<DecisionResult>): void {
  const { granted, ready, roles, audit, newDecisions } = again
  const seen = { granted, ready, roles, audit, newDecisions }
  // Compares first: an expectation is much slower, and random runs make some ten thousand.
  if (!isDeepStrictEqual(seen, expected)) expect(seen, 'a second decision finds nothing to do').toEqual(expected)
}

function storeResult(world: World, answer: DecisionResult): void {
  // Through JSON and the parser, as it goes through a column and a status.
  const granted = parseGranted(JSON.parse(JSON.stringify(answer.granted)))
  if (!isDeepStrictEqual(granted, answer.granted)) expect(granted, 'it can be read again').toEqual(answer.granted)
  if (world.schemaChecked) expect(problems(world, answer), 'the schema takes it as a status').toEqual([])
  world.row = granted
  world.status = granted
  for (const decision of answer.newDecisions) record(world.recorded, decision)
  world.audit.push(...answer.audit)
}

function problems({ assignment }: World, { ready, granted }: DecisionResult): unknown[] {
  const { uid: _, generation, namespace, name, deleting: __, ...spec } = assignment
  const object = {
    apiVersion: 'realmkeeper.io/v1alpha1',
    kind: 'RoleAssignment',
    metadata: { namespace, name },
    spec: { ...spec, realmRef: { name: 'acme' } },
    status: {
      observedGeneration: generation,
      conditions: [{ type: 'Ready', ...ready, observedGeneration: generation, lastTransitionTime: START }],
      granted,
    },
  }
  // What tests break in a spec is not the point here.
  return defaultAndValidate('RoleAssignment', JSON.parse(JSON.stringify(object))).problems.filter(
    ({ path }) => path[0] !== 'spec',
  )
}

/** As the table does: a name once, Approved may become Denied, nothing turns Denied back. */
function record(rows: RecordedDecision[], decision: RecordedDecision): void {
  const found = rows.find(
    (row) =>
      row.assignmentUid === decision.assignmentUid &&
      row.generation === decision.generation &&
      row.approver.toLowerCase() === decision.approver.toLowerCase(),
  )
  if (!found) rows.push({ ...decision })
  else if (decision.decision === 'Denied') found.decision = 'Denied'
}

/** An entry by `realmkeeper approve` or `deny`, on what is there now unless the test says otherwise. */
export function entry(world: World, approver: string, overrides: Partial<StatusDecision> = {}): void {
  const entry: StatusDecision = {
    approver,
    decision: 'Approved',
    form: 'entry',
    observedGeneration: world.assignment.generation,
    observedUID: world.assignment.uid,
    ...overrides,
  }
  world.decisions = world.decisions.filter(
    ({ approver, form }) => form !== entry.form || (form === 'entry' && approver !== entry.approver),
  )
  world.decisions.push(entry)
}

export function approve(world: World, ...approvers: string[]): void {
  for (const approver of approvers) entry(world, approver)
}

export function deny(world: World, approver: string): void {
  entry(world, approver, { decision: 'Denied' })
}

/** Changes spec; the generation rises by one, as an API server counts. */
export function edit(
  world: World,
  spec: Partial<
    Pick<Assignment, 'roles' | 'requestedBy' | 'submittedBy' | 'formerRequesters' | 'expiresAt' | 'durationSeconds'>
  >,
): void {
  world.assignment = { ...world.assignment, ...spec, generation: world.assignment.generation + 1 }
}

export function pass(world: World, seconds: number): void {
  world.now = new Date(world.now.getTime() + seconds * 1000)
}

export function after(seconds: number): string {
  return new Date(Date.parse(START) + seconds * 1000).toISOString()
}

/** `reason: role, role` in one line, for tables. */
export function verdict({ ready, roles }: DecisionResult): string {
  return `${ready.reason}: ${roles.map(({ role }) => role).join(' ')}`.trimEnd()
}
