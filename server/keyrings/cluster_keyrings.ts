import type { Logger } from 'pino'
import type { AccessSource } from '../../kubernetes/access.ts'
import { createApiClient } from '../../kubernetes/api_client.ts'
import { isStatus } from '../../kubernetes/api_error.ts'
import type { CountCall } from '../../kubernetes/call_counter.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { createReflector } from '../../kubernetes/reflector.ts'
import type { Sink, WatchTimings } from '../../kubernetes/reflector.ts'
import { readEntry, unreadable } from './keyring_source.ts'
import type { KeyringReading, KeyringSource } from './keyring_source.ts'

export interface ClusterKeyringsOptions {
  access: AccessSource
  clock: Clock
  log: Logger
  random: () => number
  timings?: Partial<WatchTimings>
  countCall?: CountCall
}

/** A Secret holds at most 1 MiB, which base64 and the rest of the object enlarge. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

/**
 * Keyrings as Secrets of a cluster, with one watch for each, by name. The Role of a server lists the live keyrings under
 * `resourceNames`, which RBAC can check for `metadata.name=` and not for a label selector.
 */
export function clusterKeyrings(options: ClusterKeyringsOptions): KeyringSource {
  const { access, clock, log, random, timings = {}, countCall } = options
  const client = createApiClient({ access, clock, maxBodyBytes: MAX_BODY_BYTES, countCall })
  const watches = new Set<() => void>()

  return {
    watch({ namespace, name }, onReading) {
      let isRefusalRead = false
      function read(reading: KeyringReading): void {
        isRefusalRead = false
        onReading(reading)
      }
      const reflector = createReflector({
        what: `Secret ${namespace}/${name}`,
        path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`,
        fieldSelector: `metadata.name=${name}`,
        sink: secretSink(read),
        onFailure(error, inARow) {
          // The right to a new keyring may arrive moments after its name.
          if (!isStatus(error, 403) || inARow === 1 || isRefusalRead) return
          isRefusalRead = true
          onReading(unreadable(`this server has no right to watch it: ${error.message}`))
        },
        client,
        clock,
        log,
        random,
        timings,
      })
      reflector.start()
      function end(): void {
        watches.delete(end)
        void reflector.stop()
      }
      watches.add(end)
      return end
    },
    close() {
      for (const end of watches) end()
      client.close()
    },
  }
}

function secretSink(read: (reading: KeyringReading) => void): Sink {
  return {
    replace:
      async ([secret]) =>
      () =>
        read(secret ? readEntry(secret.data) : { outcome: 'absent' }),
    apply: async (events) => () => {
      for (const { type, object } of events) read(type === 'DELETED' ? { outcome: 'absent' } : readEntry(object.data))
    },
  }
}
