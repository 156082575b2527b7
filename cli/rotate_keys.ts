import { MERGE_PATCH } from '../kubernetes/api_client.ts'
import { objectPath } from '../operator/source/cluster/api_names.ts'
import { printable } from '../process/printable.ts'
import { refusalError } from './cluster.ts'
import type { Cluster } from './cluster.ts'

export type KeyKind = 'signing' | 'refresh'

export interface Rotation {
  /** `metadata.name` of the Realm. */
  realm: string
  kind: KeyKind
  now: Date
}

/** The annotation of a Realm; each new value makes the operator rotate once. */
export function rotationAnnotation(kind: KeyKind): string {
  return `realmkeeper.io/rotate-${kind}`
}

/** Sets the annotation. Resolves with the lines to print. Throws PlainError when the API server refuses. */
export async function rotateKeys({ client, namespace }: Cluster, { realm, kind, now }: Rotation): Promise<string[]> {
  // With milliseconds, so that two calls within a second are two rotations.
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
  const obstacle = rotationObstacle(object['status'])
  return [
    `Realm ${namespace}/${realm}: rotation of the ${kind} keys requested (status.keys shows them)`,
    ...(obstacle === undefined ? [] : [`the operator cannot rotate them now: ${obstacle}`]),
  ]
}

/** Why the operator cannot rotate keys now, from the condition KeysReady. */
function rotationObstacle(realmStatus: unknown): string | undefined {
  const conditions: unknown = Object(realmStatus)['conditions']
  const keysReady: unknown = Array.isArray(conditions) ? conditions.find(({ type }) => type === 'KeysReady') : undefined
  const { status, reason, message } = Object(keysReady)
  if (keysReady === undefined || (status === 'True' && reason !== 'ExternallyManaged')) return undefined
  return printable(`${reason}: ${message}`, 500)
}
