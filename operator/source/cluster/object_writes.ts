import { isDeepStrictEqual } from 'node:util'
import { FINALIZER } from '../../../crds/group.ts'
import { keyText } from '../resource.ts'
import type { Resource, ResourceKey } from '../resource.ts'
import { ResourceConflict } from '../resource_source.ts'
import type { ResourceSource, StatusPatch } from '../resource_source.ts'
import { APPLY_PATCH, JSON_PATCH } from '../../../kubernetes/api_client.ts'
import type { ApiClient } from '../../../kubernetes/api_client.ts'
import { isFailedTest, isStatus } from '../../../kubernetes/api_error.ts'
import { AS_OPERATOR, FORCED_AS_OPERATOR, objectPath } from './api_names.ts'
import type { KindCache } from './kind_cache.ts'
import type { Received } from './received_object.ts'
import { differences, statusWrite } from './status_apply.ts'
import type { Difference, StatusWrite } from './status_apply.ts'

interface PatchOperation {
  op: 'test' | 'add' | 'replace' | 'remove'
  path: string
  value?: unknown
}

/** After so many conflicts in a row the write fails, and the queue tries again with backoff. */
const MAX_TRIES = 5

/**
 * The operator's writes on objects. Every write names the resource version that it was computed for (an apply ignores a
 * wrong uid). After a conflict the object is read and the write computed again, as long as it is the same object.
 */
export function objectWrites(options: {
  client: ApiClient
  cacheOf: (kind: ResourceKey['kind']) => KindCache
  now: () => Date
}): Pick<ResourceSource, 'writeStatus' | 'setFinalizer'> {
  const { client, cacheOf, now } = options

  /** Undefined when the object does not exist. */
  async function read(key: ResourceKey): Promise<Received | undefined> {
    const object = await client.find({ path: objectPath(key) })
    return object && cacheOf(key.kind).merge(object)
  }

  /**
   * Calls `attempt` with the object in the cache until it resolves with true, each time with the latest state. Resolves
   * with `gone` when the object was deleted or replaced.
   */
  async function withLatest(
    { key, uid }: { key: ResourceKey; uid: string },
    attempt: (base: Received) => Promise<boolean>,
  ): Promise<'done' | 'gone'> {
    let base = cacheOf(key.kind).get(key)
    for (let tries = 0; tries < MAX_TRIES; tries++) {
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
    throw new ResourceConflict(`${keyText(key)} was changed during each of ${MAX_TRIES} tries`)
  }

  async function patch(key: ResourceKey, subresource: '' | '/status', operations: PatchOperation[]): Promise<void> {
    const object = await client.object({
      method: 'PATCH',
      path: objectPath(key) + subresource,
      query: AS_OPERATOR,
      contentType: JSON_PATCH,
      body: operations,
    })
    cacheOf(key.kind).merge(object)
  }

  async function applyStatus(key: ResourceKey, uid: string, wanted: StatusPatch): Promise<void> {
    const found = await withLatest({ key, uid }, async (base) => {
      const change = statusWrite(base, wanted, now())
      if (!change) return true
      const applied = change.apply && (await apply(key, change, base.resource))
      const resource = applied ?? base.resource
      const rest = differences(resource.status, change)
      if (rest.length > 0) await patch(key, '/status', [...guards(resource), ...rest.map(correction)])
      return !change.apply || applied !== undefined
    })
    if (found === 'gone') throw gone(key)
  }

  /** Resolves with the new state; undefined when other members have to be corrected first. */
  async function apply(key: ResourceKey, change: StatusWrite, base: Resource): Promise<Resource | undefined> {
    try {
      const object = await client.object({
        method: 'PATCH',
        path: `${objectPath(key)}/status`,
        query: FORCED_AS_OPERATOR,
        contentType: APPLY_PATCH,
        body: change.apply,
      })
      return cacheOf(key.kind).merge(object).resource
    } catch (error) {
      // Parts of a removed member that another manager owns stay, and may be invalid without the rest.
      if (isStatus(error, 422) && differences(base.status, change).length > 0) return undefined
      throw error
    }
  }

  /** Removes only entries that equal those in the cache: an entry that its author changed is another decision. */
  async function removeApprovals(key: ResourceKey, uid: string, approvers: readonly string[]): Promise<void> {
    const decided = approvalsOf(cacheOf(key.kind).get(key)?.resource)
    const outdated = decided.filter(({ approver }) => approvers.includes(approver))
    const found = await withLatest({ key, uid }, async (base) => {
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
      await patch(key, '/status', [...guards(base.resource), ...operations]).catch(throwConflict(key))
      return true
    })
    if (found === 'gone') throw gone(key)
  }

  return {
    async writeStatus(key, uid, wanted) {
      const { removeApprovals: approvers = [] } = wanted
      // First, so that a crash before the status leaves a removal that is repeated.
      if (approvers.length > 0) await removeApprovals(key, uid, approvers)
      await applyStatus(key, uid, wanted)
    },

    async setFinalizer(key, uid, present) {
      const found = await withLatest({ key, uid }, async ({ resource }) => {
        const { finalizers = [], deletionTimestamp } = resource.metadata
        if (finalizers.includes(FINALIZER) === present) return true
        if (present && deletionTimestamp !== undefined) {
          throw new ResourceConflict(`${keyText(key)} is being deleted`)
        }
        await patch(key, '', [...guards(resource), finalizerOperation(finalizers, present)]).catch(throwConflict(key))
        return true
      })
      // A missing object has no finalizer to remove.
      if (present && found === 'gone') throw gone(key)
    },
  }
}

function finalizerOperation(finalizers: readonly string[], present: boolean): PatchOperation {
  const path = '/metadata/finalizers'
  if (present) return { op: 'add', path, value: [...finalizers, FINALIZER] }
  return { op: 'replace', path, value: finalizers.filter((each) => each !== FINALIZER) }
}

/** Fails the patch unless the object is the one that was read. */
function guards({ metadata }: Resource): PatchOperation[] {
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
  ]
}

function correction({ member, value }: Difference): PatchOperation {
  const path = `/status/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return value === undefined ? { op: 'remove', path } : { op: 'replace', path, value }
}

function gone(key: ResourceKey): ResourceConflict {
  return new ResourceConflict(`${keyText(key)} was deleted or replaced`)
}

function throwConflict(key: ResourceKey): (error: unknown) => never {
  return (error) => {
    if (isFailedTest(error)) throw new ResourceConflict(`${keyText(key)} was changed since it was read`)
    throw error
  }
}

function approvalsOf(resource: Resource | undefined): { approver: string }[] {
  const approvals: unknown = resource?.status && Reflect.get(resource.status, 'approvals')
  return Array.isArray(approvals) ? approvals : []
}
