import type { Logger } from 'pino'
import type { ReadAccess } from './api_server/api_access.ts'
import { FOLLOW_TIMINGS, followSecret } from './api_server/follow_secret.ts'
import type { FollowTimings } from './api_server/follow_secret.ts'
import { createSecretApi } from './api_server/secret_api.ts'
import type { KeyringSource } from './keyring_source.ts'

export interface ClusterKeyringsOptions {
  access: ReadAccess
  log: Logger
  random: () => number
  timings?: Partial<FollowTimings>
}

/**
 * Keyrings as Secrets of a cluster, one watch for each, by name: the Role of a server names the live keyrings and
 * nothing else (a label selector is no bound of RBAC; `metadata.name=` under `resourceNames` is one). The Kubernetes
 * client is not loaded here: it would double the memory, for two calls.
 */
export function clusterKeyrings({ access, log, random, timings }: ClusterKeyringsOptions): KeyringSource {
  const api = createSecretApi(access)
  const followed = new Set<() => void>()
  return {
    watch(reference, onReading) {
      const end = followSecret({
        api,
        reference,
        onReading,
        log,
        random,
        timings: { ...FOLLOW_TIMINGS, ...timings },
      })
      followed.add(end)
      return () => {
        followed.delete(end)
        end()
      }
    },
    close() {
      for (const end of followed) end()
      followed.clear()
      api.close()
    },
  }
}
