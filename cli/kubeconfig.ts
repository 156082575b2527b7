import type { KubeConfig } from '@kubernetes/client-node'
import { processClock } from '../kubernetes/clock.ts'
import { createApiClient } from '../operator/source/cluster/api_client.ts'
import type { ApiClient } from '../operator/source/cluster/api_client.ts'
import { loadKubeConfig } from '../operator/source/cluster/kube_config.ts'

/** What kubectl calls by the same names. */
export interface ClusterOptions {
  /** Default: KUBECONFIG, then `~/.kube/config`, then the ServiceAccount of the pod. */
  kubeconfig?: string | undefined
  context?: string | undefined
  /** Default: the context's, else `default`. */
  namespace?: string | undefined
  /** The user name to act as; needs the right to impersonate. */
  as?: string | undefined
  /** Groups that the other is taken for a member of; without them it has none of its own. */
  asGroups?: readonly string[] | undefined
}

/** A cluster as one caller sees it. Whoever connects closes it, or the process goes on for the idle connections. */
export interface Cluster {
  client: ApiClient
  namespace: string
  close(): void
}

/** Reads the caller's kubeconfig. Nothing is called yet. Throws KubeConfigError. */
export function connectCluster({ kubeconfig, context, namespace, as, asGroups = [] }: ClusterOptions): Cluster {
  const load = (): KubeConfig => actingAs(loadKubeConfig({ file: kubeconfig, context }), as)
  const config = load()
  const headers = asGroups.length > 0 ? { 'Impersonate-Group': [...asGroups] } : {}
  const client = createApiClient({ connect: load, mayWrite: () => true, clock: processClock, headers })
  const inContext = config.getContextObject(config.getCurrentContext())?.namespace
  return { client, namespace: namespace ?? (inContext || 'default'), close: () => client.close() }
}

/** The API server judges impersonation by the rights of the credentials, and everything after it by the other's. */
function actingAs(config: KubeConfig, as: string | undefined): KubeConfig {
  if (as === undefined) return config
  const current = config.getCurrentUser()
  config.users = config.users.map((user) => (user === current ? { ...user, impersonateUser: as } : user))
  return config
}
