import { listDecisions } from '../../store/operator/decisions.ts'
import { findRememberedGovernance } from '../../store/operator/realm_governance.ts'
import type { RememberedGovernance } from '../../store/operator/realm_governance.ts'
import { findSpecProof } from '../../store/operator/spec_proofs.ts'
import type { WrittenSpec } from '../../store/operator/spec_proofs.ts'
import { findRoleAssignmentByUid } from '../../store/role_assignments.ts'
import type { RoleAssignmentRow } from '../../store/role_assignments.ts'
import { conditionOf } from '../controller/condition.ts'
import { isPaused } from '../controller/paused.ts'
import type { ReconcileResult, Reconciler } from '../controller/reconciler.ts'
import type { ReconcilerDeps } from '../deps.ts'
import type { ApprovalEnforcement } from '../enforcement/approval_enforcement.ts'
import { definedRoles } from '../realm/fields.ts'
import { governanceOf, parseStrength, strengthInEffect, strengthOf } from '../realm/governance/strength.ts'
import { pathOf } from '../view/resource_types.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import { NotYet } from '../view/view.ts'
import type { RealmForResource, View } from '../view/view.ts'
import { applyDecision, applyDeletion, deleteOrphanedRow } from './apply.ts'
import { endedWaits, eventOf } from './audit.ts'
import { decide } from './decide.ts'
import type { Assignment, DecisionResult, RealmForAssignment, UserForAssignment } from './decision.ts'
import { parseGranted } from './granted.ts'
import { specState, writtenSpec } from './spec_state.ts'
import type { SpecState } from './spec_state.ts'
import { statusDecisions } from './status_decisions.ts'

type Deps = Pick<ReconcilerDeps, 'store' | 'approvalEnforcement'> &
  Partial<Pick<ReconcilerDeps, 'metrics' | 'reportDrift'>>

/** Keeps the rows of `granted_roles` equal to what `decide` concludes on one RoleAssignment. */
export function roleAssignmentReconciler(deps: Deps): Reconciler<'RoleAssignment'> {
  const { store, approvalEnforcement, metrics, reportDrift } = deps
  /** The uid whose rows were written last, by `namespace/name`. */
  const writtenUids = new Map<string, string>()

  return {
    async reconcile(resource, view) {
      const path = pathOf(resource.metadata)
      const { uid } = resource.metadata
      await deleteFormer(path, uid)
      writtenUids.set(path, uid)

      const realm = view.realmFor(resource)
      const row = await findRoleAssignmentByUid(store.db, uid)
      const recorded = await listDecisions(store.db, uid)
      const remembered = realm.admitted ? await findRememberedGovernance(store.db, realm.name) : undefined
      const enforcement = approvalEnforcement()
      requireKnownState(enforcement, row, resource)
      const storedIn = { row: parseGranted(row?.granted), status: parseGranted(resource.status?.granted) }
      const written = writtenSpec(resource)
      const known = await readSpecState(enforcement, written)
      const decideUnder = (enforcement: ApprovalEnforcement, spec: SpecState): DecisionResult =>
        decide({
          assignment: assignmentOf(resource),
          decisions: statusDecisions(resource.status),
          recorded,
          // A status that comes back with a deleted object grants nothing.
          stored: { ...storedIn, statusTrusted: enforcement.statusTrusted && !known.isMarked },
          spec,
          realm: realmOf(realm, remembered, enforcement),
          user: realm.admitted ? userOf(resource, realm, view) : undefined,
          enforcement,
          now: store.now(),
        })
      let result = decideUnder(enforcement, known.state)
      let provenSpec: WrittenSpec | undefined
      // The known enforcement may be a minute old: a decision is recorded, a role granted, or a spec taken as proven, only
      // after a live check.
      const needsProof =
        known.state === 'unknown' && enforcement.mode === 'enforced' && !resource.metadata.deletionTimestamp
      if (needsLiveCheck(result) || needsProof) {
        const live = await enforcement.prove(resource)
        // Read again: a gap that ended since the first read has marked the spec.
        const { state: marked } = await readSpecState(live, written)
        if (marked === 'unknown' && live.mode === 'enforced') provenSpec = written
        result = decideUnder(live, provenSpec ? 'proven' : marked)
      }

      const realmName = realm.admitted ? realm.name : undefined
      const applied = await applyDecision(store, resource, { realm: realmName, row, provenSpec }, result)
      if (applied.drifted) reportDrift?.(`RoleAssignment ${path}: the granted roles were changed`)
      for (const { until, seconds } of endedWaits(result, store.now())) metrics?.waited(until, seconds)
      return reconcileResult(resource, result, applied.changed)
    },

    /** Uses the row only: the realm and the subject may be gone. */
    async finalize(resource) {
      const { uid } = resource.metadata
      const row = await findRoleAssignmentByUid(store.db, uid)
      const { audit } = decide({
        assignment: { ...assignmentOf(resource), deleting: true },
        decisions: [],
        recorded: [],
        stored: { row: parseGranted(row?.granted), statusTrusted: false },
        spec: 'unknown',
        realm: { admitted: false, reason: 'RealmNotFound', message: '' },
        enforcement: { mode: 'development', required: false },
        now: store.now(),
      })
      await applyDeletion(store, resource.metadata, row?.realm, audit)
      writtenUids.delete(pathOf(resource.metadata))
    },

    gone: (key) => deleteFormer(pathOf(key)),
  }

  /** `isMarked`: a spec of this object was unproven, or the object was deleted before. */
  async function readSpecState(
    { mode }: ApprovalEnforcement,
    written: WrittenSpec,
  ): Promise<{ state: SpecState; isMarked: boolean }> {
    if (mode === 'development') return { state: 'proven', isMarked: false }
    const proof = await findSpecProof(store.db, written.assignmentUid)
    return { state: specState(proof, written), isMarked: proof?.proven === false }
  }

  /** Revokes what the former object of this name granted, when its finalizer was removed by hand. */
  async function deleteFormer(path: string, present?: string): Promise<void> {
    const former = writtenUids.get(path)
    if (former === undefined || former === present) return
    const row = await findRoleAssignmentByUid(store.db, former)
    if (row) await deleteOrphanedRow(store, row)
    writtenUids.delete(path)
  }
}

/**
 * Throws NotYet while the row is lost and the operator does not know whether the status may replace it. A decision
 * without stored state would void the approvals for good.
 */
function requireKnownState(
  { mode }: ApprovalEnforcement,
  row: RoleAssignmentRow | undefined,
  { status }: RoleAssignmentResource,
): void {
  if (mode !== 'unchecked') return
  const stored = parseGranted(status?.granted)
  if (stored && stored.generation > (row?.generation ?? 0)) {
    throw new NotYet('the operator does not know yet whether it may trust status.granted')
  }
}

function needsLiveCheck({ newDecisions, audit }: DecisionResult): boolean {
  return newDecisions.length > 0 || audit.some(({ action }) => action === 'roles_granted')
}

function assignmentOf(resource: RoleAssignmentResource): Assignment {
  const { metadata, spec } = resource
  const { uid, generation, namespace, name, deletionTimestamp } = metadata
  const deleting = deletionTimestamp !== undefined
  return { ...spec, uid, generation, namespace, name, deleting, paused: isPaused(resource) }
}

/** @param remembered the strongest governance that the realm name had */
function realmOf(
  realm: RealmForResource,
  remembered: RememberedGovernance | undefined,
  enforcement: ApprovalEnforcement,
): RealmForAssignment {
  if (!realm.admitted) return realm
  const { uid, name, resource } = realm
  const { namespace } = resource.metadata
  const former = remembered && parseStrength(remembered.governance)
  return {
    admitted: true,
    uid,
    namespace,
    name,
    governance: governanceOf(resource, strengthInEffect(strengthOf(resource), former, enforcement)),
    ...definedRoles(resource),
  }
}

/**
 * The User that the subject names. Throws NotYet for a User that is about to be registered: treated as missing, it
 * would void the approvals that exist.
 */
function userOf(
  { metadata, spec }: RoleAssignmentResource,
  realm: Extract<RealmForResource, { admitted: true }>,
  view: View,
): UserForAssignment | undefined {
  if (spec.subject.kind !== 'User') return undefined
  const user = view.find('User', metadata.namespace, spec.subject.name)
  if (!user || user.metadata.deletionTimestamp !== undefined) return undefined
  const sub = view.subjectOf(realm.name, user.metadata.uid)
  if (sub !== undefined) return { uid: user.metadata.uid, sub, realmUid: realm.uid }

  const usersRealm = view.realmFor(user)
  if (!usersRealm.admitted || usersRealm.uid !== realm.uid) return undefined
  const ready = conditionOf(user, 'Ready')
  const isRefused = ready?.status === 'False' && ready.observedGeneration === user.metadata.generation
  if (isRefused) return undefined
  throw new NotYet(`User ${pathOf(user.metadata)} is not registered yet`)
}

function reconcileResult(
  { metadata }: RoleAssignmentResource,
  { ready, granted, audit, dropApprovals, requeueAt }: DecisionResult,
  changed: boolean,
): ReconcileResult {
  return {
    conditions: [{ type: 'Ready', ...ready }],
    fields: { granted },
    changed,
    events: audit.map((note) => eventOf(note, metadata.name)),
    ...(dropApprovals.length > 0 && { removeApprovals: dropApprovals }),
    ...(requeueAt && { requeueAt }),
  }
}
