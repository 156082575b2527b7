import { expect, test } from 'vitest'
import { generator, pick } from '../../support/random.ts'
import { soak } from '../../support/soak.ts'
import { mayHold, mustHold, observe } from './model.ts'
import type { Seen, WrittenDecision } from './model.ts'
import { edit, entry, pass, reconcile, world } from './world.ts'
import type { World } from './world.ts'

const SEQUENCES = soak(500, 20_000)
const STEPS = 14
const APPROVERS = ['bob', 'BOB', 'dave', 'Dave', 'erin', 'carol', 'Carol']
const ROLES = ['manager', 'editor', 'viewer', 'auditor', '_svc_dob.selfencrypt', 'svc-realm-admin', 'nosuch']

type Random = () => number

function some(random: Random, items: readonly string[]): string[] {
  const chosen = items.filter(() => random() < 0.3)
  return chosen.length > 0 ? chosen : [pick(items.slice(0, 4), random)]
}

/** Writes a decision that admission admits. A decision written in a gap is marked as forged, for the model only. */
function write(w: World, decision: Partial<WrittenDecision> & { approver: string }): void {
  const { uid, generation } = w.assignment
  const { observedUID = uid, observedGeneration = generation } = decision
  const { mode } = w.enforcement
  const isRefused = observedUID !== uid || observedGeneration !== generation
  if (isRefused && (mode === 'enforced' || mode === 'unchecked')) return

  const written: WrittenDecision = {
    decision: 'Approved',
    form: 'entry',
    ...decision,
    observedUID,
    observedGeneration,
    forged: mode === 'gap',
  }
  entry(w, decision.approver, written)
}

type Action = [name: string, weight: number, act: (w: World, random: Random) => void]

const ACTIONS: Action[] = [
  [
    'approve',
    10,
    (w, random) => write(w, { approver: pick(APPROVERS, random), form: pick(['entry', 'entry', 'condition'], random) }),
  ],
  [
    'deny',
    1,
    (w, random) =>
      write(w, { approver: pick(APPROVERS, random), decision: 'Denied', form: pick(['entry', 'condition'], random) }),
  ],
  [
    'approve ahead',
    1,
    (w, random) =>
      write(w, {
        approver: pick(APPROVERS, random),
        form: pick(['entry', 'condition'], random),
        observedGeneration: w.assignment.generation + 1,
      }),
  ],
  [
    'approve behind',
    1,
    (w, random) =>
      write(w, { approver: pick(APPROVERS, random), observedGeneration: Math.max(w.assignment.generation - 1, 1) }),
  ],
  [
    'approve another object',
    1,
    (w, random) => write(w, { approver: pick(APPROVERS, random), observedUID: 'assignment-0' }),
  ],
  ['edit roles', 3, (w, random) => edit(w, { roles: some(random, ROLES) })],
  ['edit nothing much', 1, (w) => edit(w, {})],
  [
    'edit the requester',
    1,
    (w, random) => {
      const requestedBy = pick(APPROVERS, random)
      const submittedBy = random() < 0.5 ? requestedBy : undefined
      edit(w, { requestedBy, submittedBy, formerRequesters: random() < 0.5 ? [] : some(random, APPROVERS) })
    },
  ],
  [
    'edit the end',
    1,
    (w, random) =>
      edit(w, {
        expiresAt: new Date(w.now.getTime() + Math.floor(random() * 200) * 1000).toISOString(),
        durationSeconds: undefined,
      }),
  ],
  [
    'edit the duration',
    1,
    (w, random) => edit(w, { durationSeconds: 1 + Math.floor(random() * 200), expiresAt: undefined }),
  ],
  ['edit away the end', 1, (w) => edit(w, { durationSeconds: undefined, expiresAt: undefined })],
  ['pass', 3, (w, random) => pass(w, Math.floor(random() * 100))],
  ['quorum', 1, (w, random) => govern(w, { requiredApprovals: 1 + Math.floor(random() * 3) })],
  ['claims', 1, (w, random) => govern(w, { extraApprovalForClaims: random() < 0.5 })],
  ['governance', 1, (w, random) => govern(w, { enabled: random() < 0.7 })],
  [
    'timeout',
    1,
    (w, random) => govern(w, { pendingTimeoutSeconds: random() < 0.5 ? undefined : 1 + Math.floor(random() * 200) }),
  ],
  ['composites', 2, (w, random) => define(w, pick(ROLES.slice(0, 4), random), some(random, ROLES.slice(0, 4)))],
  ['undefine a role', 1, (w, random) => undefine(w, pick(ROLES.slice(0, 4), random))],
  ['fields', 1, (w, random) => (w.realm = { ...w.realm, fieldRoles: random() < 0.5 ? [] : world().realm.fieldRoles })],
  ['no user', 1, (w) => (w.user = undefined)],
  ['a user', 2, (w) => (w.user ??= { ...world().user!, realmUid: w.realm.uid })],
  [
    'another user',
    1,
    (w, random) => (w.user = { uid: `user-${random()}`, sub: `sub-${random()}`, realmUid: w.realm.uid }),
  ],
  ['no realm', 1, (w) => (w.refused = { admitted: false, reason: 'RealmNotFound', message: 'no realm' })],
  ['the realm', 3, (w) => (w.refused = undefined)],
  ['another realm', 1, (w, random) => replaceRealm(w, `realm-${random()}`)],
  ['enforced', 4, (w) => (w.enforcement = { ...w.enforcement, mode: 'enforced' })],
  ['gap', 1, (w) => (w.enforcement = { ...w.enforcement, mode: 'gap' })],
  ['unchecked', 1, (w) => (w.enforcement = { ...w.enforcement, mode: 'unchecked' })],
  ['status emptied', 1, (w) => ((w.decisions = []), (w.status = undefined))],
  ['rows dropped', 1, (w, random) => ((w.row = undefined), (w.statusTrusted = random() < 0.7))],
  ['recreated, with the old status', 1, (w, random) => recreate(w, `assignment-${random()}`)],
]
const MODES = new Set(['enforced', 'gap', 'unchecked'])
const WEIGHTED = ACTIONS.flatMap(([name, weight, act]) => Array.from({ length: weight }, () => [name, act] as const))

function govern(w: World, change: Partial<World['realm']['governance']>): void {
  w.realm = { ...w.realm, governance: { ...w.realm.governance, ...change } }
}

function define(w: World, name: string, composites: string[]): void {
  w.realm = { ...w.realm, roles: [...w.realm.roles.filter((role) => role.name !== name), { name, composites }] }
}

function undefine(w: World, name: string): void {
  w.realm = { ...w.realm, roles: w.realm.roles.filter((role) => role.name !== name) }
}

function replaceRealm(w: World, uid: string): void {
  w.realm = { ...w.realm, uid }
  if (w.user) w.user = { ...w.user, realmUid: uid }
}

function recreate(w: World, uid: string): void {
  w.assignment = { ...w.assignment, uid, generation: 1 }
  w.row = undefined
  w.status = undefined
}

/** As the operator does: a spec that it first sees in a gap, or that waits for a check when one begins, is unproven after it. */
function specTracker(w: World): () => void {
  let known = w.assignment
  let wasInGap = false
  return () => {
    const { mode } = w.enforcement
    const isKnown = mode === 'enforced' || mode === 'development'
    if (w.spec === 'unknown' && isKnown) w.spec = wasInGap ? 'unproven' : 'proven'
    const { uid, generation } = w.assignment
    if (uid !== known.uid || generation !== known.generation) {
      known = w.assignment
      wasInGap = false
      w.spec = isKnown ? 'proven' : 'unknown'
    }
    wasInGap ||= mode === 'gap'
  }
}

test(
  'random writes: every held role is covered by a quorum on its uid and generation',
  () => {
    let held = 0
    let had = 0
    for (let seed = 1; seed <= SEQUENCES; seed++) {
      const random = generator(seed)
      const w = world()
      w.schemaChecked = seed % 10 === 0
      w.enforcement = { mode: pick(['enforced', 'enforced', 'development'], random), required: random() < 0.8 }
      const history: Seen[] = []
      const steps: string[] = []
      const trackSpec = specTracker(w)

      for (let step = 0; step < STEPS; step++) {
        const actions =
          step === 0 ? [] : Array.from({ length: 1 + Math.floor(random() * 2.5) }, () => pick(WEIGHTED, random))
        // At the end of a gap, the operator marks all decisions: a mode change comes before the writes of a step.
        const ordered = actions.toSorted(([one], [other]) => Number(MODES.has(other)) - Number(MODES.has(one)))
        for (const [name, act] of ordered) {
          act(w, random)
          steps.push(name)
        }
        trackSpec()
        steps.push(w.spec)
        history.push(observe(w))
        const roles = reconcile(w).roles.map(({ role }) => role)
        steps.push(`→ ${roles.join(' ')}`)

        const story = () => `seed ${seed}: ${steps.join(', ')}`
        for (const role of roles) {
          const reason = mayHold(role, history)
          if (reason !== undefined) expect.fail(`${role} is held, but ${reason}; ${story()}`)
        }
        const must = mustHold(history)
        const missed = must.filter((role) => !roles.includes(role))
        if (missed.length > 0) expect.fail(`${missed.join(' ')} should be held; ${story()}`)
        held += roles.length
        had += must.length
      }
    }
    // Proves that the sequences granted roles.
    expect(held).toBeGreaterThan(5 * SEQUENCES)
    expect(had).toBeGreaterThan(SEQUENCES)
  },
  soak(120_000, 3_600_000),
)
