import { listIdentities, recordIdentity } from '../../store/resource_lists.ts'
import { KINDS } from '../source/resource.ts'
import type { Kind } from '../source/resource.ts'
import type { ResourceSource } from '../source/resource_source.ts'
import type { StoreAccess } from './store_access.ts'

/** Whether what is missing from a list was deleted, or never was in this list. */
export interface ListIdentities {
  /** Reads what is recorded, and records what never was. */
  load(): Promise<void>
  /** False while a kind was re-created, or is not known, and nobody said that the rows of the former one may go. */
  areSame(kind: Kind): boolean
  /** From now on the rows of a kind are those of the list that is known by this. */
  record(kind: Kind, identity: string): Promise<void>
}

/** @param options.acceptEmpty kinds whose former rows may go, although the kind was re-created */
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
