import { METADATA } from '../../../kubernetes/api_client.ts'
import type { ApiClient } from '../../../kubernetes/api_client.ts'
import { isStatus } from '../../../kubernetes/api_error.ts'
import { isLater } from '../../../kubernetes/api_object.ts'
import type { ApiMetadata } from '../../../kubernetes/api_object.ts'
import type { Sink } from '../../../kubernetes/reflector.ts'
import type { Kind, ObjectMeta } from '../resource.ts'
import { CRDS_PATH, crdName } from './api_names.ts'

/**
 * The CustomResourceDefinition that the objects of a kind belong to. When a CRD is deleted, its objects are deleted as
 * if a user had deleted each; when it is created again, the list of its objects is complete and empty.
 */
export interface KindIdentity {
  /**
   * uid of the CRD; with a suffix while the CRD is being deleted; undefined while there is none or it may not be read.
   * Two equal results mean the same CRD, which lived in between.
   */
  current(): string | undefined
  /** True while the CRD is being deleted, and all its objects with it. */
  isTerminating(): boolean
  /** Reads the CRD, so that `current` is no older than the call. Rejects with ApiError when it cannot be read. */
  refresh(): Promise<void>
  /**
   * Reads the CRD and returns whether an object that is being deleted was deleted itself, and not with its CRD.
   * Rejects when that cannot be determined.
   */
  isOwnDeletion(metadata: Deleted): Promise<boolean>
  sink: Sink
}

/** A watch begins after a list, so an older event is only late. */
const NEVER = -1

type Deleted = Pick<ObjectMeta, 'deletionTimestamp'>

/** @param options.changed called with the former value when `current` changes */
export function kindIdentity(options: {
  kind: Kind
  client: ApiClient
  changed: (before: string | undefined) => void
}): KindIdentity {
  const { kind, client, changed } = options
  let crd: ApiMetadata | undefined
  let mayRead = true
  let latest = ''
  /** How often something was taken over, and when a list was last requested. */
  let taken = 0
  let listedAt = 0
  let next: Promise<void> | undefined
  let reading: Promise<void> = Promise.resolve()

  const isTerminating = (): boolean => crd?.deletionTimestamp !== undefined

  function current(): string | undefined {
    if (!mayRead) return undefined
    return crd && (isTerminating() ? `${crd.uid} being deleted` : crd.uid)
  }

  /**
   * Reads and the watch may arrive in either order: the later resource version wins. An answer that is older than what
   * had arrived when it was requested comes from a restored etcd, and wins.
   *
   * @param requestedAt the value of `taken` when it was requested
   */
  function take(received: ApiMetadata | undefined, resourceVersion: string, requestedAt: number): void {
    if (isLater(latest, resourceVersion) && taken > requestedAt) return
    taken += 1
    update(() => {
      mayRead = true
      latest = resourceVersion
      crd = received
    })
  }

  function update(change: () => void): void {
    const before = current()
    change()
    if (current() !== before) changed(before)
  }

  async function read(): Promise<void> {
    const requestedAt = taken
    try {
      const path = `${CRDS_PATH}/${crdName(kind)}`
      const metadata = (await client.find({ path, accept: METADATA }))?.metadata
      take(metadata, metadata?.resourceVersion ?? latest, requestedAt)
    } catch (error) {
      // Without the right, objects are still received. Only the cause of a deletion is unknown.
      if (!isStatus(error, 403)) throw error
      update(() => {
        mayRead = false
      })
    }
  }

  /** Calls that arrive during a read share the next one: the present one may have begun too early for them. */
  function refresh(): Promise<void> {
    next ??= reading
      .catch(() => undefined)
      .then(() => {
        next = undefined
        reading = read()
        return reading
      })
    return next
  }

  return {
    current,
    isTerminating,
    refresh,
    async isOwnDeletion(metadata) {
      await refresh()
      if (!mayRead) {
        throw new Error(`${crdName(kind)} may not be read, so the cause of a deletion cannot be determined`)
      }
      return crd !== undefined && !isTerminating() && !isLeftover(metadata, crd)
    },
    sink: {
      listBegins() {
        listedAt = taken
      },
      replace:
        async ([object], { isRestored }) =>
        () =>
          take(object?.metadata, object?.metadata.resourceVersion ?? latest, isRestored ? taken : listedAt),
      apply: async (events) => () => {
        for (const { type, object } of events) {
          take(type === 'DELETED' ? undefined : object.metadata, object.metadata.resourceVersion, NEVER)
        }
      },
    },
  }
}

/**
 * True for an object that was deleted with a former CRD: when an administrator removes the finalizer of a CRD that
 * cannot be deleted, a new CRD of that name inherits the objects, deletion timestamp included. Times have whole seconds,
 * so an own deletion within the CRD's first second counts as a leftover, and its rows stay.
 */
function isLeftover({ deletionTimestamp }: Deleted, crd: ApiMetadata): boolean {
  return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) <= Date.parse(crd.creationTimestamp)
}
