import { createApiClient } from '../kubernetes/api_client.ts'
import type { ApiClient } from '../kubernetes/api_client.ts'
import { processClock } from '../kubernetes/clock.ts'
import { kubeconfigAccess } from '../kubernetes/kubeconfig_access.ts'

/** The options of kubectl with the same names. */
export interface ClusterOptions {
  /** Default: KUBECONFIG, then `~/.kube/config`, then the ServiceAccount of the pod. */
  kubeconfig?: string | undefined
  context?: string | undefined
  /** Default: the context's, else `default`. */
  namespace?: string | undefined
  /** The user name to act as; needs the right to impersonate. */
  as?: string | undefined
  /** The groups to act as a member of. Without them, `as` has none of its own. */
  asGroups?: readonly string[] | undefined
}

/** A cluster as one caller may use it. Its idle connections keep the process alive until it is closed. */
export interface Cluster {
  client: ApiClient
  namespace: string
  close(): void
}

/** Reads the caller's kubeconfig and calls nothing. @throws ApiAccessError */
export function connectCluster({ kubeconfig, context, namespace, as, asGroups = [] }: ClusterOptions): Cluster {
  const access = kubeconfigAccess({ file: kubeconfig, context })
  const headers = {
    ...(as !== undefined && { 'Impersonate-User': as }),
    ...(asGroups.length > 0 && { 'Impersonate-Group': [...asGroups] }),
  }
  const client = createApiClient({ access, clock: processClock, headers })
  return { client, namespace: namespace ?? access.namespace ?? 'default', close: () => client.close() }
}
