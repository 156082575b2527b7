import { LRUCache } from 'lru-cache'
import { API_VERSION, GROUP } from '../../../crds/group.ts'
import type { ApiObject, FieldSet, ManagedFields } from '../../../kubernetes/api_object.ts'
import type { Kind, Resource } from '../resource.ts'
import { FIELD_MANAGER } from './api_names.ts'

/** An object of one of the four kinds, and the part of its status that the operator owns. */
export interface Received {
  resource: Resource
  owned: OwnedStatus
}

/** Members of status, and conditions by type, that the operator applied (KEP-555). */
export interface OwnedStatus {
  fields: readonly string[]
  conditions: readonly string[]
}

/** An object without `managedFields`, reduced to the operator's share of them. */
type Trimmed = ApiObject & { owned?: OwnedStatus }

/**
 * Drops the metadata that is not for the operator: annotations, labels, owners and the record of authors. An author may
 * fill 1.5 MB of each object with it, and the operator holds every object.
 */
export function trimmed({ metadata, ...object }: Trimmed): Trimmed {
  const { managedFields, annotations = {}, labels, ownerReferences: _, ...rest } = metadata
  const own = Object.entries(annotations).filter(([name]) => name.startsWith(`${GROUP}/`))
  // Realms select namespaces, which are in no namespace, by their labels.
  const isSelected = metadata.namespace === undefined && labels !== undefined
  return {
    ...object,
    metadata: {
      ...rest,
      ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
      ...(isSelected && { labels }),
    },
    owned: object.owned ?? ownedStatus(managedFields),
  }
}

/** Reduces an object to what the operator holds of it. */
export function receive(kind: Kind, object: ApiObject): Received {
  const { metadata, owned = NOTHING_OWNED, spec = {}, status } = trimmed(object)
  const { namespace = '', generation = 0 } = metadata
  const resource: Resource = {
    apiVersion: API_VERSION,
    kind,
    metadata: { ...metadata, namespace, generation },
    spec,
    ...(typeof status === 'object' && status !== null && { status }),
  }
  return { resource, owned }
}

const NOTHING_OWNED: OwnedStatus = { fields: [], conditions: [] }
/** Thousands of objects have few different values, so they share them. */
const shared = new LRUCache<string, OwnedStatus>({ max: 1_000 })

function ownedStatus(managedFields: readonly ManagedFields[] = []): OwnedStatus {
  const applied = managedFields.find(
    ({ manager, operation, subresource }) =>
      manager === FIELD_MANAGER && operation === 'Apply' && subresource === 'status',
  )
  const status = applied?.fieldsV1?.['f:status']
  if (!status) return NOTHING_OWNED
  const owned = {
    fields: memberNames(status).filter((name) => name !== 'conditions'),
    conditions: Object.keys(status['f:conditions'] ?? {}).flatMap(conditionType),
  }
  const key = JSON.stringify(owned)
  if (!shared.has(key)) shared.set(key, owned)
  return shared.get(key) ?? owned
}

/** Member names of a field set: `f:issuer` is the member `issuer`. */
function memberNames(set: FieldSet): string[] {
  return Object.keys(set).flatMap((key) => (key.startsWith('f:') ? key.slice(2) : []))
}

/** A list item is named by its keys: `k:{"type":"Ready"}`. */
function conditionType(key: string): string[] {
  if (!key.startsWith('k:')) return []
  const parsed: { type?: unknown } = JSON.parse(key.slice(2))
  return typeof parsed.type === 'string' ? [parsed.type] : []
}

/** Managers other than the operator that own something under a member of an object (KEP-555). They would restore it. */
export function foreignManagersOf(member: string, managedFields: readonly ManagedFields[] = []): string[] {
  const foreign = managedFields.filter(
    ({ manager, fieldsV1 }) => manager !== FIELD_MANAGER && memberNames(fieldsV1?.[`f:${member}`] ?? {}).length > 0,
  )
  return [...new Set(foreign.map(({ manager = 'unknown' }) => manager))]
}
