import { KINDS, keyOf, keyText } from '../source/resource.ts'
import type { Resource, ResourceKey } from '../source/resource.ts'
import type { ResourceSource, SecretName } from '../source/resource_source.ts'
import { ageOf } from '../view/claims.ts'
import type { ClaimHolder } from '../view/claims.ts'
import type { RelationIndex } from '../view/relation_index.ts'
import { relation } from '../view/relations.ts'
import type { Relations } from '../view/relations.ts'
import type { RealmResource } from '../view/resource_types.ts'
import type { Lane } from './queue.ts'

/** Turns a change of a resource or a Secret into queue keys: its own, and those of the resources that use it. */
export interface Dispatch {
  /** A resource appeared, changed or disappeared. */
  onResource: (key: ResourceKey) => void
  /** A Secret appeared, changed or disappeared. */
  onSecret: (name: SecretName) => void
  /** Enqueues every resource, in the order in which kinds depend on each other. */
  enqueueAll: () => void
  /** Enqueues the resources that use this one. */
  enqueueUsersOf: (key: ResourceKey) => void
}

/** More users of a resource than this go to the back lane, behind what people are editing. */
const MAX_USERS_IN_FRONT = 100

export function createDispatch(options: {
  source: ResourceSource
  index: RelationIndex
  relationsOf: (resource: Resource) => Relations
  holderOf: (claim: string) => ClaimHolder | undefined
  enqueue: (key: ResourceKey, lane: Lane) => void
}): Dispatch {
  const { source, index, relationsOf, holderOf, enqueue } = options
  /** What users of a resource depend on, by key: it changes with the spec, not with the status. */
  const revisions = new Map<string, string>()

  function enqueueUsers(names: string[], changed?: ResourceKey): void {
    const own = changed && keyText(changed)
    const concerned = names.filter((name) => {
      const holder = holderOf(name)
      if (!holder || keyText(holder.key) === own) return true
      // A name that another resource holds: no other claimant depends on this one. Thousands may claim one name, and
      // each would enqueue all others.
      if (holder.isRecorded) return false
      enqueue(holder.key, 'front')
      return true
    })
    const users = index.usersOf(concerned)
    const lane = users.length <= MAX_USERS_IN_FRONT ? 'front' : 'back'
    for (const user of users) if (keyText(user) !== own) enqueue(user, lane)
  }

  /** Returns the former and the present names of a resource. */
  function updateIndex(key: ResourceKey, resource: Resource | undefined): string[] {
    if (!resource) return index.update(key, undefined)
    return index.update(key, { ...relationsOf(resource), uid: resource.metadata.uid, age: ageOf(resource) })
  }

  return {
    onResource(key) {
      const text = keyText(key)
      const resource = source.get(key)
      const before = revisions.get(text)
      const names = updateIndex(key, resource)
      if (resource) revisions.set(text, revisionOf(resource))
      else revisions.delete(text)
      // A resource seen for the first time waits behind those that people are editing.
      enqueue(key, before === undefined ? 'back' : 'front')
      if (before !== revisions.get(text) || selectsNamespaces(resource)) enqueueUsers(names, key)
    },
    onSecret: (name) => enqueueUsers([relation.secret(name)]),
    enqueueAll() {
      const all = KINDS.flatMap((kind) => source.list(kind))
      for (const resource of all) {
        const key = keyOf(resource)
        updateIndex(key, resource)
        revisions.set(keyText(key), revisionOf(resource))
      }
      // Afterwards, so that the first reconcile knows every claimant.
      for (const resource of all) enqueue(keyOf(resource), 'back')
    },
    enqueueUsersOf: (key) => enqueueUsers(index.namesOf(key), key),
  }
}

/** Sources report such a Realm also when the labels of a namespace change. */
function selectsNamespaces(resource: Resource | undefined): boolean {
  if (resource?.kind !== 'Realm') return false
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a source hands out what its kind's schema accepts
  return (resource as RealmResource).spec.allowedNamespaces.from === 'Selector'
}

function revisionOf({ metadata: { uid, generation, deletionTimestamp = '' } }: Resource): string {
  return `${uid} ${generation} ${deletionTimestamp}`
}
