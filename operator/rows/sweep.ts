import type { Logger } from 'pino'
import { sweepChanges } from '../../store/changes.ts'
import { sweepLoginFailures } from '../../store/sessions/login_failures.ts'
import { sweepReplicas } from '../../store/replicas.ts'
import { deleteStrayGrants, listStrayGrants, readRoleAssignments } from '../../store/role_assignments.ts'
import type { RoleAssignmentRow } from '../../store/role_assignments.ts'
import { sweepSessions } from '../../store/sessions/sessions.ts'
import { paced } from './paced.ts'
import type { Pacing } from './paced.ts'
import { removeClient } from '../client/rows.ts'
import type { ListIdentities } from './list_identities.ts'
import type { OutsideScope } from './outside_scope.ts'
import { removeRealm } from '../realm/rows.ts'
import type { Known, KnownRow } from './known_table.ts'
import { deleteOrphanedRow } from '../role_assignment/apply.ts'
import type { Rows } from './rows.ts'
import { KINDS } from '../source/resource.ts'
import type { Kind } from '../source/resource.ts'
import type { ResourceSource } from '../source/resource_source.ts'
import type { StoreAccess } from './store_access.ts'
import { removeUser } from '../user/rows.ts'

export interface SweepDeps {
  source: ResourceSource
  store: StoreAccess
  rows: Rows
  identities: ListIdentities
  outside: OutsideScope
  log: Logger
  reportDrift: (row: string) => void
}

/**
 * Removes rows whose resource was deleted without its finalizer, which was removed by hand or with the object in etcd.
 * Only where the list of the kind is complete, covers the namespace, and has the identity that the rows were written
 * under. Returns the kinds whose list is not complete.
 */
export async function sweepRows(deps: SweepDeps): Promise<Kind[]> {
  const { source, identities, outside } = deps
  await identities.load()
  const later: Kind[] = []
  for (const kind of KINDS) {
    const complete = source.completeList(kind)
    if (!complete) {
      later.push(kind)
      continue
    }
    const stay = kind === 'RoleAssignment' ? await sweepAssignments(deps) : await sweepKind(kind, deps)
    const isCovered = ({ namespace }: { namespace: string }) => source.scope?.includes(namespace) ?? true
    outside.report(
      kind,
      stay.filter((row) => !isCovered(row)),
    )
    if (kind === 'RoleAssignment' || identities.areSame(kind)) continue
    const missing = stay.filter(isCovered).length
    // All are back: a deletion from now on is one.
    if (missing === 0) await identities.record(kind, complete.identity)
    else warnOfRecreated(deps, kind, missing)
  }
  await outside.reportWaiting()
  return later
}

function warnOfRecreated({ log }: SweepDeps, kind: Kind, rows: number): void {
  const message =
    `the kind ${kind} was re-created, so the rows of objects that are missing stay; ` +
    `"realmkeeper operator --accept-empty ${kind}" removes them (in the chart: operator.acceptEmpty)`
  log.warn({ rows }, message)
}

/** Returns the rows without a resource that stay. */
async function sweepKind(kind: Exclude<Kind, 'RoleAssignment'>, deps: SweepDeps): Promise<KnownRow[]> {
  const stay: KnownRow[] = []
  for (const orphan of orphansOf(kind, deps)) {
    if (!deps.identities.mayRemove(kind, orphan.namespace)) {
      stay.push(orphan)
      continue
    }
    deps.log.info(
      { resource: `${kind}/${orphan.namespace}/${orphan.name}` },
      'the resource is gone: its row is removed',
    )
    if (kind === 'Realm') await removeRealm(deps, orphan)
    else if (kind === 'Client') await removeClient(deps, orphan.resourceUid)
    else await removeUser(deps, orphan.resourceUid)
  }
  return stay
}

/** Rows without a resource. */
function orphansOf(kind: Kind, { source, rows }: SweepDeps): KnownRow[] {
  const present = new Set(source.list(kind).map(({ metadata }) => metadata.uid))
  return [...known(kind, rows).all()].filter(({ resourceUid }) => !present.has(resourceUid))
}

function known(kind: Kind, { realms, clients, users }: Rows): Pick<Known<KnownRow, never>, 'all'> {
  if (kind === 'Realm') return realms
  return kind === 'Client' ? clients : users
}

/** Returns the rows without a resource that stay. */
async function sweepAssignments(deps: SweepDeps): Promise<{ namespace: string }[]> {
  const { source, store, identities, log, reportDrift } = deps
  // Rows are read before resources: read after, a row of a new RoleAssignment would look like an orphan.
  const assignments: Omit<RoleAssignmentRow, 'granted'>[] = []
  for await (const page of readRoleAssignments(store.db)) {
    for (const { realm, resourceUid, namespace, name, generation } of page) {
      assignments.push({ realm, resourceUid, namespace, name, generation })
    }
  }
  const present = new Set(source.list('RoleAssignment').map(({ metadata }) => metadata.uid))
  const stay: typeof assignments = []
  for (const assignment of assignments) {
    if (present.has(assignment.resourceUid)) continue
    const { namespace, name } = assignment
    if (!identities.mayRemove('RoleAssignment', namespace)) {
      stay.push(assignment)
      continue
    }
    log.info({ resource: `RoleAssignment/${namespace}/${name}` }, 'the RoleAssignment is gone: its grants end')
    await deleteOrphanedRow(store, assignment)
  }
  // Grants without a row of their assignment: written by hand, or the other table was lost.
  for (const uid of await listStrayGrants(store.db)) {
    const isStray = !present.has(uid) && (await store.transaction((db) => deleteStrayGrants(db, uid)))
    if (isStray) reportDrift(`granted roles of uid ${uid}: no RoleAssignment has this uid`)
  }
  return stay
}

/** Deletes expired rows, in batches. */
export async function sweepExpired({ db, now }: StoreAccess, pacing: Pacing): Promise<void> {
  const at = now()
  await paced(pacing, async () => (await sweepSessions(db, at, EXPIRED_AT_ONCE)) === EXPIRED_AT_ONCE)
  await paced(pacing, async () => (await sweepLoginFailures(db, at, EXPIRED_AT_ONCE)) === EXPIRED_AT_ONCE)
  await sweepChanges(db, at)
  await sweepReplicas(db, at)
}

const EXPIRED_AT_ONCE = 1_000
