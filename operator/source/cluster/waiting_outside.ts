import { FINALIZER } from '../../../crds/group.ts'
import { METADATA_LIST } from '../../../kubernetes/api_client.ts'
import type { ApiClient } from '../../../kubernetes/api_client.ts'
import { isStatus } from '../../../kubernetes/api_error.ts'
import { listAll } from '../../../kubernetes/list_all.ts'
import { KINDS } from '../resource.ts'
import type { ResourceKey } from '../resource.ts'
import { kindPath } from './api_names.ts'

/**
 * Objects in other namespaces that are being deleted and have the operator's finalizer. Undefined without the right to
 * list the kinds in all namespaces, which an operator of some namespaces usually lacks. Rejects with ApiError.
 */
export async function waitingOutside(
  client: ApiClient,
  namespaces: readonly string[] | undefined,
): Promise<ResourceKey[] | undefined> {
  if (!namespaces) return []
  const waiting: ResourceKey[] = []
  try {
    for (const kind of KINDS) {
      const { objects } = await listAll(client, { path: kindPath(kind, undefined), accept: METADATA_LIST })
      for (const { metadata } of objects) {
        const { namespace = '', name, deletionTimestamp, finalizers = [] } = metadata
        const isWaiting = deletionTimestamp !== undefined && finalizers.includes(FINALIZER)
        if (isWaiting && !namespaces.includes(namespace)) waiting.push({ kind, namespace, name })
      }
    }
  } catch (error) {
    if (isStatus(error, 403, 404)) return undefined
    throw error
  }
  return waiting
}
