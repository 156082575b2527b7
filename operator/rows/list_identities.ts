import { listIdentities, recordIdentity } from '../../store/operator/resource_lists.ts'
import { KINDS } from '../source/resource.ts'
import type { Kind } from '../source/resource.ts'
import type { ResourceSource } from '../source/resource_source.ts'
import type { StoreAccess } from './store_access.ts'

/**
 * The identity of each kind (its CRD uid) that the rows were written under. A kind with another identity was deleted and
 * created again, so its missing objects were not deleted one by one, and their rows stay.
 */
export interface ListIdentities {
  /** Reads the recorded identities, and records those of kinds that have none. */
  load(): Promise<void>
  /** False while the kind is unknown, or was re-created and is not in `acceptEmpty`. */
  areSame(kind: Kind): boolean
  /** Records that the rows of a kind belong to this identity. */
  record(kind: Kind, identity: string): Promise<void>
}

/** @param options.acceptEmpty re-created kinds whose former rows may be removed */
export function listIdentitiesOf(options: {
  source: ResourceSource
  store: StoreAccess
  acceptEmpty: readonly Kind[]
}): ListIdentities {
  const { source, store, acceptEmpty } = options
  let recorded = new Map<string, string>()

  async function record(kind: Kind, identity: string): Promise<void> {
    await store.transaction((db) => recordIdentity(db, kind, identity))
    recorded.set(kind, identity)
  }

  return {
    record,
    async load() {
      recorded = await listIdentities(store.db)
      for (const kind of KINDS) {
        const identity = source.completeList(kind)?.identity
        const before = recorded.get(kind)
        if (identity === undefined || identity === before) continue
        if (before !== undefined && !acceptEmpty.includes(kind)) continue
        await record(kind, identity)
      }
    },
    areSame(kind) {
      const identity = source.identity?.(kind) ?? source.completeList(kind)?.identity
      return identity !== undefined && identity === recorded.get(kind)
    },
  }
}
