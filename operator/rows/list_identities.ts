import { forgetNamespaces, listIdentities, recordIdentity } from '../../store/operator/resource_lists.ts'
import type { ListIdentity } from '../../store/operator/resource_lists.ts'
import { KINDS } from '../source/resource.ts'
import type { Kind } from '../source/resource.ts'
import type { ResourceSource } from '../source/resource_source.ts'
import type { StoreAccess } from './store_access.ts'

/**
 * The identity of each kind's list (its CRD uid) that the rows of a namespace were written under. A kind with another
 * identity was deleted and created again, so its missing objects were not deleted one by one, and their rows stay. A
 * namespace outside the source's scope has no list, so nothing is missing there.
 */
export interface ListIdentities {
  /** Reads the recorded identities, and records those of lists that have none. */
  load(): Promise<void>
  /** False while the kind is unknown, or was re-created and is not in `acceptEmpty`. Default: every covered namespace. */
  areSame(kind: Kind, namespace?: string): boolean
  /** Whether a row of a kind in a namespace may go because its resource is missing. */
  mayRemove(kind: Kind, namespace: string): boolean
  /** Records that the rows of a kind in the covered namespaces belong to this identity. */
  record(kind: Kind, identity: string): Promise<void>
}

/** Stands for every namespace without an entry of its own. */
const OTHERS = ''

/** @param options.acceptEmpty kinds whose rows without a resource may go: re-created ones, and those outside the scope */
export function listIdentitiesOf(options: {
  source: Pick<ResourceSource, 'completeList' | 'identity' | 'scope'>
  store: StoreAccess
  acceptEmpty: readonly Kind[]
}): ListIdentities {
  const { source, store, acceptEmpty } = options
  const { scope } = source
  let recorded: ListIdentity[] = []

  function recordedOf(kind: Kind, namespace: string): string | undefined {
    const ofKind = recorded.filter((entry) => entry.kind === kind)
    const found =
      ofKind.find((entry) => entry.namespace === namespace) ?? ofKind.find((entry) => entry.namespace === OTHERS)
    return found?.identity
  }

  /** The entries that the list of a kind is compared with. */
  function coveredBy(kind: Kind): readonly string[] {
    const named = recorded.flatMap((entry) => (entry.kind === kind ? entry.namespace : []))
    return scope ?? [OTHERS, ...named]
  }

  async function save(kind: Kind, identity: string, namespaces: readonly string[], forget = false): Promise<void> {
    await store.transaction(async (db) => {
      if (forget) await forgetNamespaces(db, kind)
      for (const namespace of namespaces) await recordIdentity(db, { kind, namespace, identity })
    })
    const isReplaced = (entry: ListIdentity) => forget || namespaces.includes(entry.namespace)
    recorded = [
      ...recorded.filter((entry) => entry.kind !== kind || !isReplaced(entry)),
      ...namespaces.map((namespace) => ({ kind, namespace, identity })),
    ]
  }

  /** For every namespace, also those outside the scope. */
  const saveForAll = (kind: Kind, identity: string): Promise<void> => save(kind, identity, [OTHERS], true)

  return {
    async load() {
      recorded = await listIdentities(store.db)
      for (const kind of KINDS) {
        const identity = source.completeList(kind)?.identity
        if (identity === undefined) continue
        if (acceptEmpty.includes(kind)) {
          await saveForAll(kind, identity)
          continue
        }
        const unknown = (scope ?? [OTHERS]).filter((namespace) => recordedOf(kind, namespace) === undefined)
        if (unknown.length > 0) await save(kind, identity, unknown)
      }
    },
    areSame(kind, namespace) {
      const identity = source.identity?.(kind) ?? source.completeList(kind)?.identity
      if (identity === undefined) return false
      const namespaces = namespace === undefined ? coveredBy(kind) : [namespace]
      return namespaces.every((each) => recordedOf(kind, each) === identity)
    },
    mayRemove(kind, namespace) {
      if (scope && !scope.includes(namespace)) return acceptEmpty.includes(kind)
      // A grant without a RoleAssignment ends, also when the kind was re-created.
      return kind === 'RoleAssignment' || this.areSame(kind, namespace)
    },
    record: (kind, identity) => (scope ? save(kind, identity, scope) : saveForAll(kind, identity)),
  }
}
