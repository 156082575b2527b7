import { addUnprovenConfirmations } from '../../../store/operator/realm_governance.ts'
import { CONFIRM_GOVERNANCE } from '../../realm/governance/remember.ts'
import type { StoreAccess } from '../../rows/store_access.ts'
import type { RealmResource } from '../../view/resource_types.ts'

/**
 * Stores the confirmations of governance that are on Realms: they may have been written during the gap. Those that do not
 * begin with the uid of their Realm have no effect.
 */
export async function markConfirmations(store: StoreAccess, realms: readonly RealmResource[]): Promise<void> {
  const found = realms.flatMap(({ metadata: { uid, annotations } }) => {
    const value = annotations?.[CONFIRM_GOVERNANCE]
    return value?.startsWith(`${uid}/`) && value.length <= MAX_LENGTH ? value : []
  })
  if (found.length > 0) await store.transaction((db) => addUnprovenConfirmations(db, found))
}

/** Longer than a uid, a generation, a namespace and a name. */
const MAX_LENGTH = 512
