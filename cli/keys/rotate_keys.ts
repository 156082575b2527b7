import { printable } from '../../process/printable.ts'
import { MERGE_PATCH } from '../../kubernetes/api_client.ts'
import { objectPath } from '../../operator/source/cluster/api_names.ts'
import type { Cluster } from '../kubeconfig.ts'
import { refusalError } from '../decisions/cluster/refusal.ts'

export interface Rotation {
  /** `metadata.name` of the Realm. */
  realm: string
  kind: 'signing' | 'refresh'
  now: Date
}

/** The annotation of a Realm whose every new value has the operator rotate once. */
export function rotationAnnotation(kind: Rotation['kind']): string {
  return `realmkeeper.io/rotate-${kind}`
}

/** Sets the annotation. Resolves with what to tell whoever asked. Throws DecisionError when the API server refuses. */
export async function rotateKeys({ client, namespace }: Cluster, { realm, kind, now }: Rotation): Promise<string[]> {
  // With milliseconds: a second call within a second is a second rotation.
  const annotations = { [rotationAnnotation(kind)]: now.toISOString() }
  const object = await client
    .object({
      method: 'PATCH',
      path: objectPath({ kind: 'Realm', namespace, name: realm }),
      query: { fieldManager: 'realmkeeper-keys' },
      contentType: MERGE_PATCH,
      body: { metadata: { annotations } },
    })
    .catch((error: unknown) => {
      throw refusalError(`Realm ${namespace}/${realm}`, error)
    })
  const told = [
    `Realm ${namespace}/${realm}: the operator was asked to rotate the ${kind} keys (status.keys shows them)`,
  ]
  const trouble = keysTrouble(object['status'])
  return trouble === undefined ? told : [...told, `but as things stand nothing is rotated: ${trouble}`]
}

/** Why an operator rotates nothing now, by the condition KeysReady. */
function keysTrouble(status: unknown): string | undefined {
  const conditions: unknown = Object(status)['conditions']
  const keys: unknown = Array.isArray(conditions) ? conditions.find(({ type }) => type === 'KeysReady') : undefined
  const { status: state, reason, message } = Object(keys)
  if (keys === undefined || (state === 'True' && reason !== 'ExternallyManaged')) return undefined
  return printable(`${reason}: ${message}`, 500)
}
