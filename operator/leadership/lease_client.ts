import { isStatus } from '../source/cluster/api_error.ts'
import type { ApiClient } from '../source/cluster/api_client.ts'
import type { ApiObject } from '../source/cluster/api_object.ts'
import type { LeaseRecord } from './lease_record.ts'

export interface StoredLease {
  record: LeaseRecord
  resourceVersion: string
}

/** One Lease of a cluster. */
export interface LeaseClient {
  /** Undefined when there is none. */
  read(): Promise<StoredLease | undefined>
  /**
   * Writes over `before`, or creates where that is undefined. Undefined when somebody else was faster. Rejects with
   * ApiError when it could not be found out.
   */
  write(record: LeaseRecord, before: StoredLease | undefined): Promise<StoredLease | undefined>
}

export function leaseClient(client: ApiClient, { namespace, name }: { namespace: string; name: string }): LeaseClient {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`

  return {
    async read() {
      try {
        return leaseOf(await client.object({ method: 'GET', path: `${path}/${name}` }))
      } catch (error) {
        if (isStatus(error, 404)) return undefined
        throw error
      }
    },
    async write(record, before) {
      const metadata = { namespace, name, ...(before && { resourceVersion: before.resourceVersion }) }
      const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: record }
      try {
        if (!before) return leaseOf(await client.object({ method: 'POST', path, body }))
        return leaseOf(await client.object({ method: 'PUT', path: `${path}/${name}`, body }))
      } catch (error) {
        // Changed, or created, by somebody else; or deleted, which is found out at the next look. Where none can be
        // created because its namespace is not there, nobody was faster.
        if (isStatus(error, 409) || (before && isStatus(error, 404))) return undefined
        throw error
      }
    },
  }
}

function leaseOf({ metadata, spec }: ApiObject): StoredLease {
  const record: LeaseRecord = typeof spec === 'object' && spec !== null ? spec : {}
  return { record, resourceVersion: metadata.resourceVersion }
}
