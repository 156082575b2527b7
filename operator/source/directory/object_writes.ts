import { keyText } from '../resource.ts'
import type { ResourceKey } from '../resource.ts'
import { ResourceConflict } from '../resource_source.ts'
import type { StatusPatch } from '../resource_source.ts'
import { isHeldObject, objectOf } from './held_object.ts'
import type { HeldObject } from './held_object.ts'
import type { Objects } from './objects.ts'
import { fieldText } from './problem.ts'
import type { Admission } from './schema_checks.ts'
import { patchedStatus } from './status.ts'

export const FINALIZER = 'realmkeeper.io/cleanup'

export interface ObjectWrites {
  writeStatus(key: ResourceKey, uid: string, patch: StatusPatch): void
  setFinalizer(key: ResourceKey, uid: string, present: boolean): void
}

/** What the operator writes on the objects it holds. None of it needs the disk to be synced: it can be found out anew. */
export function objectWrites({ objects, admission }: { objects: Objects; admission: Admission }): ObjectWrites {
  function find(key: ResourceKey): HeldObject | undefined {
    const held = objects.held.get(keyText(key))
    return held && isHeldObject(held) ? held : undefined
  }

  function get(key: ResourceKey, uid: string): HeldObject {
    const held = find(key)
    if (!held) throw new ResourceConflict(`${keyText(key)} is gone`)
    if (held.uid !== uid) throw new ResourceConflict(`${keyText(key)} is another object by now`)
    return held
  }

  return {
    writeStatus(key, uid, patch) {
      const held = get(key, uid)
      const status = patchedStatus(held.status, patch, admission.now())
      if (!status) return
      const object = { ...held, status }
      const [problem] = admission.defaultAndValidate(key.kind, objectOf(object)).problems
      if (problem)
        throw new Error(`status of ${keyText(key)} is not valid: ${fieldText(problem.path)} ${problem.message}`)
      objects.write([{ put: object }])
    },

    setFinalizer(key, uid, present) {
      // Nothing is there to be let go.
      if (!present && !find(key)) return
      const held = get(key, uid)
      if (held.finalizers.includes(FINALIZER) === present) return
      if (!present && held.deletionTimestamp !== undefined) {
        objects.write([{ gone: keyText(key) }], { durable: true })
        return
      }
      objects.write([{ put: { ...held, finalizers: present ? [FINALIZER] : [] } }])
    },
  }
}
