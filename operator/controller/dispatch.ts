import type { Lane } from './queue.ts'
import type { RelationIndex } from '../view/relation_index.ts'
import { relation } from '../view/relations.ts'
import type { Relations } from '../view/relations.ts'
import type { RealmResource } from '../view/resource_types.ts'
import { KINDS, keyOf, keyText } from '../source/resource.ts'
import type { Resource, ResourceKey } from '../source/resource.ts'
import type { ResourceSource, SecretName } from '../source/resource_source.ts'

/** Turns what a source tells into work: for the object itself, and for whatever uses it. */
export interface Dispatch {
  /** Looks at everything there is, in the order in which kinds depend on each other. */
  enqueueAll(): void
  /** Those that use a resource look again. */
  wakeUsersOf(key: ResourceKey): void
}

/** More dependents than this do not go before what people are changing just now. */
const FEW = 100

export function createDispatch(options: {
  source: ResourceSource
  index: RelationIndex
  relationsOf: (resource: Resource) => Relations
  enqueue: (key: ResourceKey, lane: Lane) => void
}): Dispatch {
  const { source, index, relationsOf, enqueue } = options
  /** What others can see of a resource changes with these; a status does not count. */
  const stamps = new Map<string, string>()

  function look(key: ResourceKey): void {
    const text = keyText(key)
    const resource = source.get(key)
    const before = stamps.get(text)
    const names = index.update(key, resource && relationsOf(resource))
    if (resource) stamps.set(text, stampOf(resource))
    else stamps.delete(text)
    // What was never seen before waits behind what somebody edits.
    enqueue(key, before === undefined ? 'back' : 'front')
    if (before !== stamps.get(text) || selectsNamespaces(resource)) wake(index.usersOf(names), key)
  }

  function wake(users: ResourceKey[], except?: ResourceKey): void {
    const own = except && keyText(except)
    const lane = users.length <= FEW ? 'front' : 'back'
    for (const user of users) if (keyText(user) !== own) enqueue(user, lane)
  }

  source.onResource(look)
  source.onSecret((secret: SecretName) => wake(index.usersOf([relation.secret(secret)])))

  return {
    enqueueAll() {
      for (const resource of KINDS.flatMap((kind) => source.list(kind))) {
        const key = keyOf(resource)
        index.update(key, relationsOf(resource))
        stamps.set(keyText(key), stampOf(resource))
        enqueue(key, 'back')
      }
    },
    wakeUsersOf: (key) => wake(index.usersOf(index.namesOf(key)), key),
  }
}

/** Sources tell of such a Realm when the labels of a namespace change, too. */
function selectsNamespaces(resource: Resource | undefined): boolean {
  if (resource?.kind !== 'Realm') return false
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a source hands out what its kind's schema accepts
  return (resource as RealmResource).spec.allowedNamespaces.from === 'Selector'
}

function stampOf({ metadata: { uid, generation, deletionTimestamp = '' } }: Resource): string {
  return `${uid} ${generation} ${deletionTimestamp}`
}
