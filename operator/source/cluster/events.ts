import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { API_VERSION } from '../../../crds/group.ts'
import { MERGE_PATCH } from '../../../kubernetes/api_client.ts'
import type { ApiClient } from '../../../kubernetes/api_client.ts'
import { isStatus } from '../../../kubernetes/api_error.ts'
import type { Clock } from '../../../kubernetes/clock.ts'
import { loggableText } from '../../../process/loggable.ts'
import { keyText } from '../resource.ts'
import type { EventObject, ResourceEvent } from '../resource_source.ts'
import { AS_OPERATOR, corePath, FIELD_MANAGER } from './api_names.ts'
import { eventBudget } from './event_budget.ts'

export interface EventRecorder {
  /** Never throws and never waits. Drops Events that exceed the budget. */
  record(key: EventObject, object: ObjectState | undefined, event: ResourceEvent): void
  stop(): Promise<void>
}

/** The object as last received. */
interface ObjectState {
  uid: string
  resourceVersion?: string
}

interface WrittenEvent {
  name: string
  count: number
  at: number
}

const MAX_QUEUED = 500
const REPEATED_WITHIN_MILLIS = 10 * 60_000
const MAX_REMEMBERED = 2_000
const MAX_MESSAGE_LENGTH = 1_024

/**
 * Writes Events (core/v1, which `kubectl describe` shows). An Event that repeats one of the last ten minutes increments
 * its count.
 */
export function eventRecorder(options: {
  client: ApiClient
  /** Names the reporting process. */
  instance: string
  clock: Clock
  now: () => Date
  log: Logger
}): EventRecorder {
  const { client, instance, clock, now, log } = options
  const takeFromBudget = eventBudget(clock)
  const written = new LRUCache<string, WrittenEvent>({ max: MAX_REMEMBERED })
  const queue: (() => Promise<void>)[] = []
  let sending: Promise<void> | undefined
  let stopped = false

  async function send(): Promise<void> {
    for (let next = queue.shift(); next; next = queue.shift()) {
      await next().catch((error: unknown) => {
        // A namespace that is being deleted refuses Events. Nothing depends on an Event.
        if (!isStatus(error, 403, 404)) log.debug({ err: error }, 'an Event was not written')
      })
    }
    sending = undefined
  }

  async function write(key: EventObject, object: ObjectState | undefined, event: ResourceEvent): Promise<void> {
    const { uid = '', resourceVersion } = object ?? {}
    const { type, reason } = event
    const message = loggableText(event.message, MAX_MESSAGE_LENGTH)
    const path = corePath('events', key.namespace)
    const identity = JSON.stringify([keyText(key), uid, type, reason, message])
    const before = written.get(identity)
    const time = `${now().toISOString().slice(0, 19)}Z`

    if (before && clock.now() - before.at < REPEATED_WITHIN_MILLIS) {
      const count = before.count + 1
      if (await increment(`${path}/${before.name}`, { count, lastTimestamp: time })) {
        written.set(identity, { ...before, count, at: clock.now() })
        return
      }
    }

    const name = `${key.name.slice(0, 230)}.${randomBytes(8).toString('hex')}`
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: key.namespace, name },
      involvedObject: {
        apiVersion: key.kind === 'Secret' ? 'v1' : API_VERSION,
        ...key,
        uid,
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
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
    written.set(identity, { name, count: 1, at: clock.now() })
  }

  /** False when the Event no longer exists. */
  async function increment(path: string, body: object): Promise<boolean> {
    try {
      await client.object({ method: 'PATCH', path, contentType: MERGE_PATCH, body, query: AS_OPERATOR })
      return true
    } catch (error) {
      if (isStatus(error, 404)) return false
      throw error
    }
  }

  return {
    record(key, object, event) {
      if (stopped || queue.length >= MAX_QUEUED || !takeFromBudget(object?.uid ?? '')) {
        log.debug({ resource: keyText(key), reason: event.reason }, 'an Event exceeds the budget and is not written')
        return
      }
      queue.push(() => write(key, object, event))
      sending ??= send()
    },
    async stop() {
      stopped = true
      queue.length = 0
      await sending
    },
  }
}
