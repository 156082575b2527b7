import type { Kind, Resource } from '../resource.ts'
import { API_VERSION } from './api_paths.ts'
import { FIELD_MANAGER } from './api_object.ts'
import type { ApiObject, FieldSet, ManagedFields, OwnedStatus } from './api_object.ts'

/** An object of one of the four kinds, and what of its status is the operator's. */
export interface Received {
  resource: Resource
  owned: OwnedStatus
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/**
 * An object without the bookkeeping about its authors. That is two thirds of one that was applied, which ten thousand
 * objects would hold in memory.
 */
export function slimmed({ metadata, ...object }: ApiObject): ApiObject {
  const { managedFields, annotations, ...kept } = metadata
  const { [LAST_APPLIED]: _, ...notes } = annotations ?? {}
  return {
    ...object,
    metadata: { ...kept, ...(Object.keys(notes).length > 0 && { annotations: notes }) },
    owned: object.owned ?? ownedStatus(managedFields),
  }
}

/** What the operator keeps of an object. */
export function receive(kind: Kind, object: ApiObject): Received {
  const { metadata, owned = NOTHING, spec = {}, status } = slimmed(object)
  const { name, namespace = '', uid, resourceVersion, creationTimestamp, generation = 0 } = metadata
  const { deletionTimestamp, finalizers, labels, annotations } = metadata
  const resource: Resource = {
    apiVersion: API_VERSION,
    kind,
    metadata: {
      name,
      namespace,
      uid,
      generation,
      resourceVersion,
      creationTimestamp,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(finalizers && { finalizers }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    spec,
    ...(isObject(status) && { status }),
  }
  return { resource, owned }
}

const NOTHING: OwnedStatus = { fields: [], conditions: [] }
/** Few objects differ in what is owned, so they share it. */
const shared = new Map<string, OwnedStatus>()

function ownedStatus(managedFields: readonly ManagedFields[] = []): OwnedStatus {
  const applied = managedFields.find(
    ({ manager, operation, subresource }) =>
      manager === FIELD_MANAGER && operation === 'Apply' && subresource === 'status',
  )
  const status = applied?.fieldsV1?.['f:status']
  if (!status) return NOTHING
  const fields = names(status).filter((name) => name !== 'conditions')
  const conditions = Object.keys(status['f:conditions'] ?? {}).flatMap(conditionType)
  const key = JSON.stringify([fields, conditions])
  const present = shared.get(key)
  if (present) return present
  const owned = { fields, conditions }
  if (shared.size < 1_000) shared.set(key, owned)
  return owned
}

/** Field names of a set: `f:issuer` is the member `issuer`. */
function names(set: FieldSet): string[] {
  return Object.keys(set).flatMap((key) => (key.startsWith('f:') ? key.slice(2) : []))
}

/** Items of a list are named by their keys: `k:{"type":"Ready"}`. */
function conditionType(key: string): string[] {
  if (!key.startsWith('k:')) return []
  const parsed: { type?: unknown } = JSON.parse(key.slice(2))
  return typeof parsed.type === 'string' ? [parsed.type] : []
}

/**
 * Managers other than the operator that own something under a member of an object (KEP-555): it is theirs, and they
 * would put it back.
 */
export function foreignManagersOf(member: string, managedFields: readonly ManagedFields[] = []): string[] {
  const foreign = managedFields.filter(
    ({ manager, fieldsV1 }) => manager !== FIELD_MANAGER && names(fieldsV1?.[`f:${member}`] ?? {}).length > 0,
  )
  return [...new Set(foreign.map(({ manager = 'unknown' }) => manager))]
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
