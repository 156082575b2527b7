import { isStatus } from '../../kubernetes/api_error.ts'
import type { ApiClient } from '../../kubernetes/api_client.ts'
import type { ApiObject } from '../../kubernetes/api_object.ts'
import type { LeaseRecord, StoredLease } from './lease_record.ts'

/** One Lease of a cluster. */
export interface LeaseClient {
  /** Undefined when the Lease does not exist. */
  read(): Promise<StoredLease | undefined>
  /**
   * Replaces `before`, or creates the Lease where that is undefined. Resolves with undefined when the Lease was changed
   * meanwhile. Rejects with ApiError when the outcome is unknown.
   */
  write(record: LeaseRecord, before: StoredLease | undefined): Promise<StoredLease | undefined>
}

export function leaseClient(client: ApiClient, { namespace, name }: { namespace: string; name: string }): LeaseClient {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`

  return {
    async read() {
      const object = await client.find({ path: `${path}/${name}` })
      return object && leaseOf(object)
    },
    async write(record, before) {
      // Without the uid, an update of a Lease that was deleted creates another one.
      const metadata = { namespace, name, ...(before && { uid: before.uid, resourceVersion: before.resourceVersion }) }
      const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: record }
      try {
        if (!before) return leaseOf(await client.object({ method: 'POST', path, body }))
        return leaseOf(await client.object({ method: 'PUT', path: `${path}/${name}`, body }))
      } catch (error) {
        // 409: changed, deleted or created by another process, which the next read finds. 404 of an update: deleted.
        // 404 of a create means that the namespace is missing, and is an error.
        if (isStatus(error, 409) || (before && isStatus(error, 404))) return undefined
        throw error
      }
    },
  }
}

function leaseOf({ metadata, spec }: ApiObject): StoredLease {
  const record: LeaseRecord = typeof spec === 'object' && spec !== null ? spec : {}
  return { record, uid: metadata.uid, resourceVersion: metadata.resourceVersion }
}
