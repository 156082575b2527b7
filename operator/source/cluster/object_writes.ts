import { isDeepStrictEqual } from 'node:util'
import { keyText } from '../resource.ts'
import type { Resource, ResourceKey } from '../resource.ts'
import { ResourceConflict } from '../resource_source.ts'
import type { StatusPatch } from '../resource_source.ts'
import { APPLY_PATCH, JSON_PATCH } from './api_client.ts'
import type { ApiClient } from './api_client.ts'
import { isFailedTest, isStatus } from './api_error.ts'
import { FIELD_MANAGER } from './api_object.ts'
import { objectPath } from './api_paths.ts'
import type { KindCache } from './kind_cache.ts'
import type { Received } from './received_object.ts'
import { statusWrite, unlike } from './status_apply.ts'
import type { StatusWrite, Unlike } from './status_apply.ts'

export const FINALIZER = 'realmkeeper.io/cleanup'

export interface ObjectWrites {
  writeStatus(key: ResourceKey, uid: string, patch: StatusPatch): Promise<void>
  setFinalizer(key: ResourceKey, uid: string, present: boolean): Promise<void>
}

interface PatchOperation {
  op: 'test' | 'add' | 'replace' | 'remove'
  path: string
  value?: unknown
}

/** Somebody else changes the object all the time; then it is the queue's turn to wait. */
const TRIES = 5

/**
 * What the operator writes on objects. Every write names the version that it was made for: a uid guards nothing in an
 * apply. When that is over, the object is read and the write made anew, as long as it is the same object.
 */
export function objectWrites(options: {
  client: ApiClient
  cacheOf: (kind: ResourceKey['kind']) => KindCache
  now: () => Date
}): ObjectWrites {
  const { client, cacheOf, now } = options

  /** Undefined when there is none. */
  async function read(key: ResourceKey): Promise<Received | undefined> {
    try {
      return cacheOf(key.kind).merge(await client.object({ method: 'GET', path: objectPath(key) }))
    } catch (error) {
      if (isStatus(error, 404)) return undefined
      throw error
    }
  }

  /**
   * Calls `attempt` with the object as held, and again with the object as it is by then; it resolves with true when
   * nothing is left to be done. Resolves with `gone` when the object is not there any more, or another one is.
   */
  async function tryWith(
    { key, uid }: { key: ResourceKey; uid: string },
    attempt: (base: Received) => Promise<boolean>,
  ): Promise<'done' | 'gone'> {
    let base = cacheOf(key.kind).get(key)
    for (let tries = 0; tries < TRIES; tries++) {
      if (base?.resource.metadata.uid !== uid) return 'gone'
      try {
        if (await attempt(base)) return 'done'
        base = cacheOf(key.kind).get(key)
      } catch (error) {
        if (isStatus(error, 404)) return 'gone'
        if (!isStatus(error, 409)) throw error
        base = await read(key)
      }
    }
    throw new ResourceConflict(`${keyText(key)} changes all the time`)
  }

  async function patch(key: ResourceKey, subresource: '' | '/status', operations: PatchOperation[]): Promise<void> {
    const object = await client.object({
      method: 'PATCH',
      path: objectPath(key) + subresource,
      query: { fieldManager: FIELD_MANAGER },
      contentType: JSON_PATCH,
      body: operations,
    })
    cacheOf(key.kind).merge(object)
  }

  async function applyStatus(key: ResourceKey, uid: string, wanted: StatusPatch): Promise<void> {
    const found = await tryWith({ key, uid }, async (base) => {
      const change = statusWrite(base, wanted, now())
      if (!change) return true
      const applied = change.apply && (await apply(key, change, base.resource))
      const resource = applied ?? base.resource
      const rest = unlike(resource.status, change)
      if (rest.length > 0) await patch(key, '/status', [...guards(resource), ...rest.map(correction)])
      return !change.apply || applied !== undefined
    })
    if (found === 'gone') throw gone(key)
  }

  /** The object as it is then. Undefined when something has to be out of the way first. */
  async function apply(key: ResourceKey, change: StatusWrite, base: Resource): Promise<Resource | undefined> {
    try {
      const object = await client.object({
        method: 'PATCH',
        path: `${objectPath(key)}/status`,
        // What the operator says of itself is not for others to change.
        query: { fieldManager: FIELD_MANAGER, force: 'true' },
        contentType: APPLY_PATCH,
        body: change.apply,
      })
      return cacheOf(key.kind).merge(object).resource
    } catch (error) {
      // Of a member that goes, the parts that are said to be somebody's stay, and may not be valid without the rest.
      if (isStatus(error, 422) && unlike(base.status, change).length > 0) return undefined
      throw error
    }
  }

  /** Only the entries that are held: one that its author has changed since is another decision. */
  async function removeApprovals(key: ResourceKey, uid: string, approvers: readonly string[]): Promise<void> {
    const decided = approvalsOf(cacheOf(key.kind).get(key)?.resource)
    const outdated = decided.filter(({ approver }) => approvers.includes(approver))
    const found = await tryWith({ key, uid }, async (base) => {
      const present = approvalsOf(base.resource)
      const at = present.flatMap((entry, index) => (outdated.some((one) => isDeepStrictEqual(one, entry)) ? index : []))
      if (at.length === 0) return true
      const operations = at.toReversed().flatMap((index): PatchOperation[] => {
        const path = `/status/approvals/${index}`
        return [
          { op: 'test', path, value: present[index] },
          { op: 'remove', path },
        ]
      })
      await patch(key, '/status', [...guards(base.resource), ...operations]).catch(tellConflict(key))
      return true
    })
    if (found === 'gone') throw gone(key)
  }

  return {
    async writeStatus(key, uid, wanted) {
      const { removeApprovals: approvers = [] } = wanted
      // Before the status that says so: a crash between the two leaves what is done again.
      if (approvers.length > 0) await removeApprovals(key, uid, approvers)
      await applyStatus(key, uid, wanted)
    },

    async setFinalizer(key, uid, present) {
      const found = await tryWith({ key, uid }, async ({ resource }) => {
        const { finalizers = [], deletionTimestamp } = resource.metadata
        if (finalizers.includes(FINALIZER) === present) return true
        if (present && deletionTimestamp !== undefined) {
          throw new ResourceConflict(`${keyText(key)} is being deleted`)
        }
        await patch(key, '', [...guards(resource), finalizerOperation(finalizers, present)]).catch(tellConflict(key))
        return true
      })
      // Nothing is there to be let go, which is as good.
      if (present && found === 'gone') throw gone(key)
    },
  }
}

function finalizerOperation(finalizers: readonly string[], present: boolean): PatchOperation {
  const path = '/metadata/finalizers'
  if (present) return { op: 'add', path, value: [...finalizers, FINALIZER] }
  return { op: 'replace', path, value: finalizers.filter((each) => each !== FINALIZER) }
}

/** The object as it was read, or none. */
function guards({ metadata }: Resource): PatchOperation[] {
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
  ]
}

function correction({ member, value }: Unlike): PatchOperation {
  const path = pathInStatus(member)
  return value === undefined ? { op: 'remove', path } : { op: 'replace', path, value }
}

function pathInStatus(member: string): string {
  return `/status/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function gone(key: ResourceKey): ResourceConflict {
  return new ResourceConflict(`${keyText(key)} is gone, or another object by now`)
}

function tellConflict(key: ResourceKey): (error: unknown) => never {
  return (error) => {
    if (isFailedTest(error)) throw new ResourceConflict(`${keyText(key)} is not the one that was read`)
    throw error
  }
}

function approvalsOf(resource: Resource | undefined): { approver: string }[] {
  const approvals: unknown = resource?.status && Reflect.get(resource.status, 'approvals')
  return Array.isArray(approvals) ? approvals : []
}
