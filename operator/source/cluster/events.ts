import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { loggableText } from '../../../process/loggable.ts'
import type { Clock } from '../../../kubernetes/clock.ts'
import { keyText } from '../resource.ts'
import type { Resource, ResourceKey } from '../resource.ts'
import type { ResourceEvent } from '../resource_source.ts'
import { MERGE_PATCH } from './api_client.ts'
import type { ApiClient } from './api_client.ts'
import { isStatus } from './api_error.ts'
import { FIELD_MANAGER } from './api_object.ts'
import { API_VERSION, corePath } from './api_paths.ts'
import { eventBudget } from './event_budget.ts'

export interface EventRecorder {
  /** Never throws, never waits. What comes too fast is left out. */
  record(key: ResourceKey, object: Resource | undefined, event: ResourceEvent): void
  stop(): Promise<void>
}

interface Said {
  /** Name of the Event. */
  name: string
  count: number
  at: number
}

/** Waiting to be sent; more than that is left out. */
const LONGEST_QUEUE = 500
const SAME_WITHIN_MILLIS = 10 * 60_000
const MOST_REMEMBERED = 2_000
const LONGEST_MESSAGE = 1_024

/**
 * Writes Events (core/v1, which `kubectl describe` shows). The same thing said again within ten minutes counts up the
 * Event that is there.
 */
export function eventRecorder(options: {
  client: ApiClient
  /** Which process says it. */
  instance: string
  clock: Clock
  now: () => Date
  log: Logger
}): EventRecorder {
  const { client, instance, clock, now, log } = options
  const budget = eventBudget(clock)
  const said = new Map<string, Said>()
  const queue: (() => Promise<void>)[] = []
  let sending: Promise<void> | undefined
  let stopped = false

  async function send(): Promise<void> {
    for (let next = queue.shift(); next; next = queue.shift()) {
      await next().catch((error: unknown) => {
        // With its namespace it goes as well; and nothing hangs on an Event.
        if (!isStatus(error, 403, 404)) log.debug({ err: error }, 'an Event was not written')
      })
    }
    sending = undefined
  }

  async function write(key: ResourceKey, uid: string, resourceVersion: string | undefined, event: ResourceEvent) {
    const { type, reason } = event
    const message = loggableText(event.message, LONGEST_MESSAGE)
    const path = corePath('events', key.namespace)
    const what = JSON.stringify([keyText(key), uid, type, reason, message])
    const before = said.get(what)
    said.delete(what)
    const time = `${now().toISOString().slice(0, 19)}Z`

    if (before && clock.now() - before.at < SAME_WITHIN_MILLIS) {
      const count = before.count + 1
      const body = { count, lastTimestamp: time }
      const isCounted = await client
        .object({ method: 'PATCH', path: `${path}/${before.name}`, contentType: MERGE_PATCH, body, query: AS_OPERATOR })
        .then(() => true)
        .catch((error: unknown) => {
          if (isStatus(error, 404)) return false
          throw error
        })
      if (isCounted) return remember(what, { ...before, count, at: clock.now() })
    }

    const name = `${key.name.slice(0, 230)}.${randomBytes(8).toString('hex')}`
    const involvedObject = {
      apiVersion: API_VERSION,
      kind: key.kind,
      namespace: key.namespace,
      name: key.name,
      uid,
      ...(resourceVersion !== undefined && { resourceVersion }),
    }
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: key.namespace, name },
      involvedObject,
      type,
      reason,
      message,
      count: 1,
      firstTimestamp: time,
      lastTimestamp: time,
      source: { component: FIELD_MANAGER },
      reportingComponent: FIELD_MANAGER,
      reportingInstance: instance.slice(0, 128),
    }
    await client.object({ method: 'POST', path, body, query: AS_OPERATOR })
    remember(what, { name, count: 1, at: clock.now() })
  }

  function remember(what: string, how: Said): void {
    said.set(what, how)
    const [oldest] = said.keys()
    if (said.size > MOST_REMEMBERED && oldest !== undefined) said.delete(oldest)
  }

  return {
    record(key, object, event) {
      const uid = object?.metadata.uid ?? ''
      if (stopped || queue.length >= LONGEST_QUEUE || !budget.take(uid)) {
        log.debug({ resource: keyText(key), reason: event.reason }, 'an Event was left out')
        return
      }
      queue.push(() => write(key, uid, object?.metadata.resourceVersion, event))
      sending ??= send()
    },
    async stop() {
      stopped = true
      queue.length = 0
      await sending
    },
  }
}

const AS_OPERATOR = { fieldManager: FIELD_MANAGER }
