import type { Kind } from '../resource.ts'
import type { ApiClient } from './api_client.ts'
import { isStatus } from './api_error.ts'
import { isLater } from './api_object.ts'
import type { ApiObject } from './api_object.ts'
import { CRDS_PATH, crdName } from './api_paths.ts'
import type { Sink } from './reflector.ts'

/**
 * Which CustomResourceDefinition the objects of a kind belong to. When one is deleted, its objects go as if somebody
 * had deleted each; when it is there again, its list is complete and empty.
 */
export interface KindIdentity {
  /**
   * uid of the CRD; another text while that is being deleted, undefined while there is none or nobody may look. Two
   * equal answers are the same CRD, alive in between.
   */
  current(): string | undefined
  /** True while the CRD is being deleted, and all its objects with it. */
  isGoing(): boolean
  /** Looks now, so that `current` is no older than the call. Rejects with ApiError when it cannot be found out. */
  look(): Promise<void>
  sink: Sink
}

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'

/** @param options.changed called when `current` is another one, with what it was before */
export function kindIdentity(options: {
  kind: Kind
  client: ApiClient
  changed: (before: string | undefined) => void
}): KindIdentity {
  const { kind, client, changed } = options
  let crd: ApiObject['metadata'] | undefined
  let latest = ''
  let next: Promise<void> | undefined

  const isGoing = (): boolean => crd?.deletionTimestamp !== undefined

  function current(): string | undefined {
    return crd && (isGoing() ? `${crd.uid} being deleted` : crd.uid)
  }

  /** Looks and watches overtake each other. */
  function take(seen: ApiObject['metadata'] | undefined, at: string): void {
    if (isLater(latest, at)) return
    const before = current()
    latest = at
    crd = seen
    if (current() !== before) changed(before)
  }

  async function ask(): Promise<void> {
    try {
      const { metadata } = await client.object({
        method: 'GET',
        path: `${CRDS_PATH}/${crdName(kind)}`,
        accept: METADATA,
      })
      take(metadata, metadata.resourceVersion)
    } catch (error) {
      if (isStatus(error, 404)) return take(undefined, latest)
      // Who may not look cannot tell the two apart; a deletion is then what it looks like.
      if (!isStatus(error, 403)) throw error
    }
  }

  let asking: Promise<void> = Promise.resolve()
  return {
    current,
    isGoing,
    look() {
      // Those who come while one look is under way share the next one: the present one may have begun too early.
      next ??= asking
        .catch(() => undefined)
        .then(() => {
          next = undefined
          asking = ask()
          return asking
        })
      return next
    },
    sink: {
      replace:
        async ([object]) =>
        () =>
          take(object?.metadata, object?.metadata.resourceVersion ?? latest),
      apply: async (events) => () => {
        for (const { type, object } of events) {
          take(type === 'DELETED' ? undefined : object.metadata, object.metadata.resourceVersion)
        }
      },
    },
  }
}
