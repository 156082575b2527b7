import { FINALIZER } from '../../crds/group.ts'
import { JSON_PATCH, METADATA } from '../../kubernetes/api_client.ts'
import type { ApiClient } from '../../kubernetes/api_client.ts'
import { ApiError, isFailedTest, isStatus } from '../../kubernetes/api_error.ts'
import type { ApiMetadata } from '../../kubernetes/api_object.ts'
import { kindPath, objectPath } from '../../operator/source/cluster/api_names.ts'
import { keyText } from '../../operator/source/resource.ts'
import type { Kind, ResourceKey } from '../../operator/source/resource.ts'
import { forEachObject } from '../object_pages.ts'

/** The result for one kind in one namespace, or in all. */
export interface Released {
  released: number
  /** Objects that disappeared with the finalizer, because they were being deleted. */
  disappeared: number
  /** One message for each object that keeps its finalizer. */
  failures: string[]
}

/** After so many changes during a removal, the object is reported. */
const MAX_TRIES = 5

/**
 * Removes the finalizer of the operator from every object of a kind, page by page. A second run continues: released
 * objects are skipped. Throws ApiError when the objects cannot be listed, and the error of `mayWrite`.
 *
 * @param namespace undefined: all namespaces
 * @param mayWrite called before each write; refuses it by throwing
 */
export async function releaseObjects(
  client: ApiClient,
  { kind, namespace }: { kind: Kind; namespace: string | undefined },
  mayWrite: () => void,
): Promise<Released> {
  const result: Released = { released: 0, disappeared: 0, failures: [] }
  await forEachObject(client, kindPath(kind, namespace), release)
  return result

  async function release(listed: ApiMetadata): Promise<void> {
    const key = { kind, namespace: listed.namespace ?? '', name: listed.name }
    try {
      const outcome = await removeFinalizer(client, key, listed, mayWrite)
      if (outcome !== 'absent') result.released += 1
      if (outcome === 'disappeared') result.disappeared += 1
    } catch (error) {
      // Without an answer every further call would fail too.
      if (!(error instanceof ApiError) || error.status === 0 || error.status === 401) throw error
      result.failures.push(`${keyText(key)}: ${error.message}`)
    }
  }
}

/** `absent`: the object has no such finalizer. `disappeared`: it was being deleted, and no other finalizer keeps it. */
async function removeFinalizer(
  client: ApiClient,
  key: ResourceKey,
  listed: ApiMetadata,
  mayWrite: () => void,
): Promise<'removed' | 'disappeared' | 'absent'> {
  const path = objectPath(key)
  let present: ApiMetadata | undefined = listed
  for (let tries = 1; ; tries++) {
    const { uid, deletionTimestamp, finalizers = [] }: ApiMetadata = present
    const at = finalizers.indexOf(FINALIZER)
    if (at < 0) return 'absent'
    mayWrite()
    try {
      // The tests refuse the removal of another finalizer, and that from an object of another uid.
      const body = [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'test', path: `/metadata/finalizers/${at}`, value: FINALIZER },
        { op: 'remove', path: `/metadata/finalizers/${at}` },
      ]
      const query = { fieldManager: 'realmkeeper-release' }
      await client.object({ method: 'PATCH', path, query, contentType: JSON_PATCH, accept: METADATA, body })
      return deletionTimestamp !== undefined && finalizers.length === 1 ? 'disappeared' : 'removed'
    } catch (error) {
      if (isStatus(error, 404)) return 'absent'
      if ((!isStatus(error, 409) && !isFailedTest(error)) || tries === MAX_TRIES) throw error
      present = (await client.find({ path, accept: METADATA }))?.metadata
      if (present === undefined) return 'absent'
    }
  }
}
