import { isDeepStrictEqual } from 'node:util'
import { appendAudit } from '../../store/audit.ts'
import { listDecisions, recordDecision } from '../../store/decisions.ts'
import {
  deleteRoleAssignment,
  findGrantedRoles,
  findRoleAssignmentByUid,
  lockRoleAssignment,
  replaceGrantedRoles,
  upsertRoleAssignment,
} from '../../store/role_assignments.ts'
import type { GrantedRole, GrantSubject, RoleAssignmentRow } from '../../store/role_assignments.ts'
import type { ApprovalEnforcement } from '../enforcement/approval_enforcement.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { NotYet } from '../view/view.ts'
import type { ReconcileResult, Reconciler } from '../controller/reconciler.ts'
import { endedWaits, secondsWaited } from './ended_waits.ts'
import { endOrphan } from './end_orphan.ts'
import { fieldStatus, wantedFields } from '../realm/fields.ts'
import { pathOf } from '../view/resource_types.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import { decide } from './decide.ts'
import { eventOf } from './events.ts'
import { parseGranted } from './granted.ts'
import type { Assignment, DecisionResult, RealmForAssignment, UserForAssignment } from './decision.ts'
import { statusDecisions } from './status_decisions.ts'
import { ResourceConflict } from '../source/resource_source.ts'
import type { RealmForResource, View } from '../view/view.ts'

type Deps = Pick<ReconcilerDeps, 'store' | 'approvalEnforcement' | 'waited' | 'drifted'>

/** Keeps the rows of `granted_roles` equal to what was decided on one RoleAssignment. Deciding itself is `decide`. */
export function roleAssignmentReconciler(deps: Deps): Reconciler<'RoleAssignment'> {
  const { store, approvalEnforcement, waited, drifted } = deps
  /** uid of whom the last rows were written for, by `namespace/name`. */
  const written = new Map<string, string>()

  return {
    async reconcile(resource, view) {
      const realm = view.realmFor(resource)
      const { uid } = resource.metadata
      await endFormer(pathOf(resource.metadata), uid)
      written.set(pathOf(resource.metadata), uid)
      const row = await findRoleAssignmentByUid(store.db, uid)
      const recorded = await listDecisions(store.db, uid)
      const known = approvalEnforcement()
      waitForMemory(known, row, resource)
      const decideUnder = ({ mode, required, statusTrusted }: ApprovalEnforcement): DecisionResult =>
        decide({
          assignment: assignmentOf(resource),
          stated: statusDecisions(resource.status),
          recorded,
          remembered: {
            row: parseGranted(row?.granted),
            status: parseGranted(resource.status?.granted),
            statusTrusted,
          },
          realm: realmOf(realm),
          user: realm.admitted ? userOf(resource, realm, view) : undefined,
          enforcement: { mode, required },
          now: store.now(),
        })
      const first = decideUnder(known)
      // What is known may be a minute old. Whatever is gained by it is looked at again before it is.
      const decided = gains(first) ? decideUnder(await known.prove(resource)) : first
      const changed = await apply(resource, realm, row, decided)
      for (const until of endedWaits(decided)) waited?.(until, secondsWaited(decided, store.now()))
      return outcomeOf(resource, decided, changed)
    },

    /** What it gave ends with it. The realm and the subject may be gone: only the row is looked at. */
    async finalize(resource) {
      const { uid } = resource.metadata
      const row = await findRoleAssignmentByUid(store.db, uid)
      const { audit } = decide({
        assignment: { ...assignmentOf(resource), deleting: true },
        stated: [],
        recorded: [],
        remembered: { row: parseGranted(row?.granted), statusTrusted: false },
        realm: { admitted: false, reason: 'RealmNotFound', message: '' },
        enforcement: { mode: 'development', required: false },
        now: store.now(),
      })
      await store.transaction(async (db) => {
        await deleteRoleAssignment(db, uid)
        await appendAudit(db, store.auditWriter, audited(audit, row?.realm ?? '', store.now()))
      })
      written.delete(pathOf(resource.metadata))
    },

    gone: (key) => endFormer(pathOf(key)),
  }

  /** Whoever removes the finalizer by hand must not keep what an object granted that is gone, or another one by now. */
  async function endFormer(path: string, present?: string): Promise<void> {
    const former = written.get(path)
    if (former === undefined || former === present) return
    const row = await findRoleAssignmentByUid(store.db, former)
    if (row) await endOrphan(store, row)
    written.delete(path)
  }

  /** Writes what differs from what is there, in one transaction; true when roles that count did. */
  async function apply(
    resource: RoleAssignmentResource,
    realm: RealmForResource,
    row: RoleAssignmentRow | undefined,
    { granted, grantee, roles, record, audit }: DecisionResult,
  ): Promise<boolean> {
    const { uid, namespace, name, generation } = resource.metadata
    // While the realm does not take it nothing is served, but what was granted is still remembered where it was.
    // What does not count is remembered also where there is no realm yet to remember it in.
    const realmName = realm.admitted ? realm.name : (row?.realm ?? (granted.uncounted ? '' : undefined))
    if (realmName === undefined) return false

    const isRemembered =
      row?.realm === realmName &&
      row.generation === generation &&
      isDeepStrictEqual(row.granted, JSON.parse(JSON.stringify(granted)))
    const to = grantee ?? NOBODY
    const isServed = isSame(await findGrantedRoles(store.db, realmName, uid), to, roles)
    if (isRemembered && isServed && record.length === 0 && audit.length === 0) return false

    await store.transaction(async (db) => {
      await lockRoleAssignment(db, uid)
      const present = await findRoleAssignmentByUid(db, uid)
      // Decisions were set aside meanwhile: what was decided does not know of that.
      if (!isDeepStrictEqual(present, row)) throw new ResourceConflict('its row changed since it was read')
      if (row && row.realm !== realmName) await deleteRoleAssignment(db, uid)
      if (!isRemembered) {
        await upsertRoleAssignment(db, { realm: realmName, resourceUid: uid, namespace, name, generation, granted })
      }
      if (!isServed) await replaceGrantedRoles(db, realmName, uid, to, roles)
      for (const decision of record) await recordDecision(db, decision)
      await appendAudit(db, store.auditWriter, audited(audit, realmName, store.now()))
    })
    // The rows follow from what is remembered, and both are written together.
    if (isRemembered && !isServed)
      drifted?.(`RoleAssignment ${pathOf(resource.metadata)}: the granted roles were changed`)
    return !isServed
  }
}

/**
 * Where the row is lost, the status may stand in for it, or may be forged: which of the two has to be known first.
 * Deciding without any memory would void decisions for good.
 */
function waitForMemory(
  { mode }: ApprovalEnforcement,
  row: RoleAssignmentRow | undefined,
  { status }: RoleAssignmentResource,
): void {
  if (mode !== 'unchecked') return
  const stated = parseGranted(status?.granted)
  if (stated && stated.generation > (row?.generation ?? 0)) {
    throw new NotYet('it is not known yet whether its status can be believed')
  }
}

/** Whether something is recorded or granted that was not before. */
function gains({ record, audit }: DecisionResult): boolean {
  return record.length > 0 || audit.some(({ action }) => action === 'roles_granted')
}

/** Stands for the subject where there is none; it never has roles. */
const NOBODY: GrantSubject = { kind: 'User', subject: '' }

function assignmentOf({ metadata, spec }: RoleAssignmentResource): Assignment {
  return {
    uid: metadata.uid,
    generation: metadata.generation,
    namespace: metadata.namespace,
    name: metadata.name,
    deleting: metadata.deletionTimestamp !== undefined,
    subject: spec.subject,
    roles: spec.roles,
    requestedBy: spec.requestedBy,
    expiresAt: spec.expiresAt,
    durationSeconds: spec.durationSeconds,
  }
}

function realmOf(realm: RealmForResource): RealmForAssignment {
  if (!realm.admitted) return realm
  const { metadata, spec } = realm.resource
  const fields = fieldStatus(wantedFields(realm.resource))
  return {
    admitted: true,
    uid: realm.uid,
    namespace: metadata.namespace,
    name: realm.name,
    governance: spec.identityGovernance,
    roles: spec.roles ?? [],
    fieldRoles: fields.flatMap(({ encryptRole, decryptRole }) => [encryptRole, decryptRole]),
  }
}

/**
 * The User behind the subject. One that is about to be registered is waited for: taken for missing, it would void the
 * decisions that are there already.
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

  const own = view.realmFor(user)
  if (!own.admitted || own.uid !== realm.uid) return undefined
  const ready = user.status?.conditions?.find(({ type }) => type === 'Ready')
  const isRefused = ready?.status === 'False' && ready.observedGeneration === user.metadata.generation
  if (isRefused) return undefined
  throw new NotYet(`User ${pathOf(user.metadata)} is not registered yet`)
}

function isSame(
  present: readonly (GrantedRole & GrantSubject)[],
  to: GrantSubject,
  roles: readonly GrantedRole[],
): boolean {
  const text = (list: readonly (GrantedRole & GrantSubject)[]): string =>
    list
      .map(({ kind, subject, role, expiresAt }) => JSON.stringify([kind, subject, role, expiresAt]))
      .toSorted()
      .join()
  return text(present) === text(roles.map((role) => ({ ...role, ...to })))
}

function audited(notes: DecisionResult['audit'], realm: string, at: Date) {
  return notes.map((note) => ({ ...note, realm, at }))
}

function outcomeOf({ metadata }: RoleAssignmentResource, decided: DecisionResult, changed: boolean): ReconcileResult {
  const { ready, granted, audit, dropApprovals, lookAgainAt } = decided
  return {
    conditions: [{ type: 'Ready', ...ready }],
    fields: { granted },
    changed,
    events: audit.map((note) => eventOf(note, metadata.name)),
    ...(dropApprovals.length > 0 && { removeApprovals: dropApprovals }),
    ...(lookAgainAt && { requeueAt: lookAgainAt }),
  }
}
