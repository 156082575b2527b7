import { isStatus } from '../../../kubernetes/api_error.ts'
import type { ApiObject } from '../../../kubernetes/api_object.ts'
import { kindPath, objectPath } from '../../../operator/source/cluster/api_names.ts'
import { covers, statusDecisions } from '../../../operator/role_assignment/status_decisions.ts'
import type { StatusDecision } from '../../../operator/role_assignment/status_decisions.ts'
import { keyText } from '../../../operator/source/resource.ts'
import type { Cluster } from '../../kubeconfig.ts'
import { assignmentRow, realmOf } from '../assignment_row.ts'
import type { AssignmentObject, AssignmentRow, NamespacedName, RealmLookup, RealmObject } from '../assignment_row.ts'
import { refusalError } from './refusal.ts'
import { submitterOf } from './submitter.ts'

export interface Selection {
  /** Undefined is every namespace. */
  namespace: string | undefined
  /** As kubectl's `-l`. */
  selector?: string | undefined
}

/** A RoleAssignment at one look. */
export interface Seen {
  row: AssignmentRow
  /** Decisions that cover what was seen, with the names of their authors as they are. */
  standing: StatusDecision[]
}

/** RoleAssignments of a cluster, oldest first. Throws DecisionError. */
export async function listAssignments(cluster: Cluster, selection: Selection, now: Date): Promise<Seen[]> {
  const objects = await listObjects(cluster, selection).catch((error: unknown) => {
    const { namespace } = selection
    throw refusalError(namespace === undefined ? 'RoleAssignments' : `RoleAssignments of namespace ${namespace}`, error)
  })
  const realms = await readRealms(cluster, objects)
  return objects.map((object) => seen(object, realms, now)).toSorted((a, b) => b.row.ageSeconds - a.row.ageSeconds)
}

/** One RoleAssignment as it is now. Throws DecisionError. */
export async function readAssignment(cluster: Cluster, key: NamespacedName, now: Date): Promise<Seen> {
  const path = objectPath({ kind: 'RoleAssignment', ...key })
  const object = await cluster.client.object({ method: 'GET', path }).catch((error: unknown) => {
    throw refusalError(`RoleAssignment ${key.namespace}/${key.name}`, error)
  })
  return seen(object, await readRealms(cluster, [object]), now)
}

/** Those that are named, in that order, or else those that are selected. Throws DecisionError when a name is wrong. */
export async function selectAssignments(
  cluster: Cluster,
  names: readonly string[],
  selection: Selection,
  now: Date,
): Promise<Seen[]> {
  if (names.length === 0) return listAssignments(cluster, selection, now)
  const namespace = selection.namespace ?? cluster.namespace
  const found: Seen[] = []
  for (const name of new Set(names.map(withoutKind))) {
    found.push(await readAssignment(cluster, { namespace, name }, now))
  }
  return found
}

/** Names may be given as `-o name` prints them. */
function withoutKind(name: string): string {
  return name.replace(/^(?:ra|roleassignments?(?:\.realmkeeper\.io)?)\//, '')
}

const PAGE = 500

async function listObjects({ client }: Cluster, { namespace, selector }: Selection): Promise<ApiObject[]> {
  const objects: ApiObject[] = []
  let next: string | undefined
  do {
    const query = { limit: PAGE, continue: next, labelSelector: selector }
    const page = await client.list({ method: 'GET', path: kindPath('RoleAssignment', namespace), query })
    objects.push(...page.items)
    next = page.metadata.continue || undefined
  } while (next !== undefined)
  return objects
}

/** The Realms that are named, each once. One that the caller may not read, or that is not there, is left out. */
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

function seen(object: ApiObject, findRealm: RealmLookup, now: Date): Seen {
  const assignment = objectOf(object)
  const submittedBy = submitterOf(object.metadata.managedFields ?? [])
  return {
    row: { ...assignmentRow(assignment, findRealm, now), ...(submittedBy !== undefined && { submittedBy }) },
    standing: statusDecisions(assignment.status).filter((stated) => covers(stated, assignment)),
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
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server holds it to the schema
    ...(status !== undefined && { status: status as AssignmentObject['status'] & object }),
  }
}
