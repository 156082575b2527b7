import { API_VERSION, GROUP } from '../../crds/group.ts'
import { MERGE_PATCH, METADATA } from '../../kubernetes/api_client.ts'
import { isStatus } from '../../kubernetes/api_error.ts'
import type { ApiObject } from '../../kubernetes/api_object.ts'
import { CRDS_PATH, crdName, kindPath, objectPath } from '../../operator/source/cluster/api_names.ts'
import { KINDS } from '../../operator/source/resource.ts'
import type { Kind } from '../../operator/source/resource.ts'
import { PlainError } from '../../process/plain_error.ts'
import { refusalError } from '../cluster.ts'
import type { Cluster } from '../cluster.ts'
import { forEachObject } from '../object_pages.ts'

const VERSION = API_VERSION.slice(GROUP.length + 1)

/**
 * Writes every resource in the version that the cluster stores, then removes former versions from `status.storedVersions`
 * of the CustomResourceDefinitions. Changes no field, and can be repeated. Throws PlainError.
 */
export async function migrateResources(cluster: Cluster, print: (line: string) => void): Promise<void> {
  // All are checked before the first write.
  const definitions = []
  for (const kind of KINDS) definitions.push({ kind, definition: await readDefinition(cluster, kind) })
  for (const { kind, definition } of definitions) print(await migrateKind(cluster, kind, definition))
}

async function readDefinition({ client }: Cluster, kind: Kind): Promise<ApiObject> {
  const what = `CustomResourceDefinition ${crdName(kind)}`
  const definition = await client
    .object({ method: 'GET', path: `${CRDS_PATH}/${crdName(kind)}` })
    .catch((error: unknown) => {
      throw refusalError(what, error)
    })
  const stored = Object(definition['spec']).versions?.find((version: { storage?: boolean }) => version.storage)?.name
  if (stored === VERSION) return definition
  throw new PlainError(`${what} stores ${stored}: install the CustomResourceDefinitions of this release first`)
}

/** Resolves with the line to print. */
async function migrateKind({ client }: Cluster, kind: Kind, definition: ApiObject): Promise<string> {
  const versions: string[] = Object(definition['status']).storedVersions ?? []
  if (versions.join() === VERSION) return `${kind}s: all are stored as ${VERSION}`

  let written = 0
  try {
    await forEachObject(client, kindPath(kind, undefined), async ({ namespace = '', name }) => {
      const path = objectPath({ kind, namespace, name })
      const query = { fieldManager: 'realmkeeper-migrate-resources' }
      try {
        // A patch without content changes nothing. The API server writes the object, because its stored form differs.
        await client.object({ method: 'PATCH', path, query, contentType: MERGE_PATCH, accept: METADATA, body: {} })
        written += 1
      } catch (error) {
        if (!isStatus(error, 404)) throw error
      }
    })
    await client.object({
      method: 'PATCH',
      path: `${CRDS_PATH}/${crdName(kind)}/status`,
      contentType: MERGE_PATCH,
      // With the version that was read first: the stored version must not have changed meanwhile.
      body: {
        metadata: { resourceVersion: definition.metadata.resourceVersion },
        status: { storedVersions: [VERSION] },
      },
    })
  } catch (error) {
    throw refusalError(`${kind}s cannot be migrated (${written} were written); run the command again`, error)
  }
  return `${kind}s: ${written} written as ${VERSION}; ${versions.filter((each) => each !== VERSION).join(', ')} is no longer stored`
}
