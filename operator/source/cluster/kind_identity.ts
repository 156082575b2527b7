import type { Kind, ObjectMeta } from '../resource.ts'
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
  /**
   * Looks now whether an object that is being deleted was deleted itself, and does not go because its CRD goes or went.
   * Rejects when that cannot be found out.
   */
  isOwnDeletion(metadata: Deleted): Promise<boolean>
  sink: Sink
}

type Deleted = Pick<ObjectMeta, 'deletionTimestamp'>

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'

/** @param options.changed called when `current` is another one, with what it was before */
export function kindIdentity(options: {
  kind: Kind
  client: ApiClient
  changed: (before: string | undefined) => void
}): KindIdentity {
  const { kind, client, changed } = options
  let crd: ApiObject['metadata'] | undefined
  let mayLook = true
  let latest = ''
  let next: Promise<void> | undefined

  const isGoing = (): boolean => crd?.deletionTimestamp !== undefined

  function current(): string | undefined {
    if (!mayLook) return undefined
    return crd && (isGoing() ? `${crd.uid} being deleted` : crd.uid)
  }

  /** Looks and watches overtake each other. */
  function take(seen: ApiObject['metadata'] | undefined, at: string): void {
    if (isLater(latest, at)) return
    become(() => {
      mayLook = true
      latest = at
      crd = seen
    })
  }

  function become(change: () => void): void {
    const before = current()
    change()
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
      // Who may not look still sees objects come and change. What goes, nobody can tell the reason of.
      if (!isStatus(error, 403)) throw error
      become(() => {
        mayLook = false
      })
    }
  }

  let asking: Promise<void> = Promise.resolve()
  function look(): Promise<void> {
    // Those who come while one look is under way share the next one: the present one may have begun too early.
    next ??= asking
      .catch(() => undefined)
      .then(() => {
        next = undefined
        asking = ask()
        return asking
      })
    return next
  }

  return {
    current,
    isGoing,
    look,
    async isOwnDeletion(metadata) {
      await look()
      if (!mayLook) throw new Error(`${crdName(kind)} may not be read: whether it goes with its objects is not known`)
      return crd !== undefined && !isGoing() && !isLeftBehind(metadata, crd)
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

/**
 * True for what a former CRD left behind: one that hangs while it is deleted, and is freed of its finalizer by hand,
 * leaves its objects to the next one, deleted as they are. Times are in whole seconds: in the first one rows stay.
 */
function isLeftBehind({ deletionTimestamp }: Deleted, crd: ApiObject['metadata']): boolean {
  return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) <= Date.parse(crd.creationTimestamp)
}
