import { isStatus } from '../../../kubernetes/api_error.ts'
import type { ApiObject } from '../../../kubernetes/api_object.ts'
import { listAll } from '../../../kubernetes/list_all.ts'
import { kindPath, objectPath } from '../../../operator/source/cluster/api_names.ts'
import { covers, statusDecisions } from '../../../operator/role_assignment/status_decisions.ts'
import type { StatusDecision } from '../../../operator/role_assignment/status_decisions.ts'
import { keyText } from '../../../operator/source/resource.ts'
import { refusalError } from '../../cluster.ts'
import type { Cluster } from '../../cluster.ts'
import { assignmentRow, realmOf } from '../assignment_row.ts'
import type { AssignmentObject, AssignmentRow, NamespacedName, RealmLookup, RealmObject } from '../assignment_row.ts'
import { claimantProgram } from './field_managers.ts'

/** Which RoleAssignments: those of the cluster's default namespace, unless `allNamespaces`. */
export interface Selection {
  allNamespaces?: true
  /** As kubectl's `-l`. */
  selector?: string
}

/** One state of a RoleAssignment. */
export interface Snapshot {
  row: AssignmentRow
  /** The decisions about this state of its spec, with the unescaped names of the approvers. */
  decisions: StatusDecision[]
}

/** RoleAssignments of a cluster, oldest first. Throws PlainError. */
export async function listAssignments(cluster: Cluster, selection: Selection, now: Date): Promise<Snapshot[]> {
  const { allNamespaces, selector } = selection
  const namespace = allNamespaces ? undefined : cluster.namespace
  const request = { path: kindPath('RoleAssignment', namespace), query: { labelSelector: selector } }
  const { objects } = await listAll(cluster.client, request).catch((error: unknown) => {
    throw refusalError(namespace === undefined ? 'RoleAssignments' : `RoleAssignments of namespace ${namespace}`, error)
  })
  const realms = await readRealms(cluster, objects)
  return objects
    .map((object) => snapshotOf(object, realms, now))
    .toSorted((a, b) => b.row.ageSeconds - a.row.ageSeconds)
}

/** Reads one RoleAssignment. Throws PlainError. */
export async function readAssignment(cluster: Cluster, key: NamespacedName, now: Date): Promise<Snapshot> {
  const path = objectPath({ kind: 'RoleAssignment', ...key })
  const object = await cluster.client.object({ method: 'GET', path }).catch((error: unknown) => {
    throw refusalError(`RoleAssignment ${key.namespace}/${key.name}`, error)
  })
  return snapshotOf(object, await readRealms(cluster, [object]), now)
}

/** The named RoleAssignments in that order; without names, the selected ones. Throws PlainError for an unknown name. */
export async function selectAssignments(
  cluster: Cluster,
  names: readonly string[],
  selection: Selection,
  now: Date,
): Promise<Snapshot[]> {
  if (names.length === 0) return listAssignments(cluster, selection, now)
  const { namespace } = cluster
  const found: Snapshot[] = []
  for (const name of new Set(names.map(withoutKind))) {
    found.push(await readAssignment(cluster, { namespace, name }, now))
  }
  return found
}

/** Accepts names as `kubectl get -o name` prints them. */
function withoutKind(name: string): string {
  return name.replace(/^(?:ra|roleassignments?(?:\.realmkeeper\.io)?)\//, '')
}

/** Reads each Realm that the objects name once. Omits a Realm that is missing or that the caller may not read. */
async function readRealms({ client }: Cluster, objects: readonly ApiObject[]): Promise<RealmLookup> {
  const named = new Map(objects.map(objectOf).map((object) => [keyOf(realmOf(object)), realmOf(object)]))
  const realms = new Map<string, RealmObject>()
  for (const [key, realm] of named) {
    try {
      const object = await client.object({ method: 'GET', path: objectPath({ kind: 'Realm', ...realm }) })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server validates it against the schema
      realms.set(key, object as unknown as RealmObject)
    } catch (error) {
      if (!isStatus(error, 403, 404)) throw refusalError(`Realm ${realm.namespace}/${realm.name}`, error)
    }
  }
  return (realm) => realms.get(keyOf(realm))
}

function keyOf(realm: NamespacedName): string {
  return keyText({ kind: 'Realm', ...realm })
}

function snapshotOf(object: ApiObject, findRealm: RealmLookup, now: Date): Snapshot {
  const assignment = objectOf(object)
  const row = assignmentRow(assignment, findRealm, now)
  const claimedWith = row.claimed ? claimantProgram(object.metadata.managedFields ?? []) : undefined
  return {
    row: { ...row, ...(claimedWith !== undefined && { claimedWith }) },
    decisions: statusDecisions(assignment.status).filter((decision) => covers(decision, assignment)),
  }
}

function objectOf({ metadata, spec, status }: ApiObject): AssignmentObject {
  const { name, namespace = '', uid, generation = 0, creationTimestamp, deletionTimestamp } = metadata
  return {
    namespace,
    name,
    uid,
    generation,
    creationTimestamp,
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    spec,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server validates it against the schema
    ...(status !== undefined && { status: status as AssignmentObject['status'] & object }),
  }
}
