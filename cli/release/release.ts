import { API_VERSION } from '../../crds/group.ts'
import { MERGE_PATCH } from '../../kubernetes/api_client.ts'
import { isStatus } from '../../kubernetes/api_error.ts'
import { KINDS } from '../../operator/source/resource.ts'
import type { Kind } from '../../operator/source/resource.ts'
import { printable } from '../../process/printable.ts'
import { refusalError } from '../cluster.ts'
import type { Cluster } from '../cluster.ts'
import { asLeader } from './as_leader.ts'
import type { LeaseOptions } from './as_leader.ts'
import { releaseObjects } from './release_objects.ts'

export interface ReleaseOptions {
  /** `undefined` in the list: all namespaces. */
  namespaces: readonly (string | undefined)[]
  /** Undefined: no operator is installed. */
  lease: LeaseOptions | undefined
  stopDeployment: { namespace: string; name: string } | undefined
  print: (line: string) => void
}

/**
 * Removes the finalizer of the operator from all objects of the four kinds. Resolves with one message for each object
 * that keeps it. Throws PlainError when an operator leads, and when the API server refuses a list.
 */
export async function release(cluster: Cluster, options: ReleaseOptions): Promise<string[]> {
  const { namespaces, lease, stopDeployment, print } = options
  if (stopDeployment) print(await stop(cluster, stopDeployment))
  const failures = lease ? await asLeader(cluster, lease, releaseAll) : await releaseAll(() => {})
  print('Rows in PostgreSQL, keyrings and Secrets stay. An operator that starts later adds the finalizers again.')
  return failures

  async function releaseAll(mayWrite: () => void): Promise<string[]> {
    const failures: string[] = []
    // Those that refer to others first.
    for (const kind of KINDS.toReversed()) {
      for (const namespace of namespaces) failures.push(...(await releaseKind(kind, namespace, mayWrite)))
    }
    return failures
  }

  async function releaseKind(kind: Kind, namespace: string | undefined, mayWrite: () => void): Promise<string[]> {
    const what = `${kind}s in ${namespace === undefined ? 'all namespaces' : `namespace ${namespace}`}`
    try {
      const { released, disappeared, failures } = await releaseObjects(cluster.client, { kind, namespace }, mayWrite)
      const gone = disappeared > 0 ? `, ${disappeared} of them were being deleted and are gone` : ''
      print(`${what}: ${released} released${gone}`)
      return failures.map((message) => printable(message, 500))
    } catch (error) {
      if (!isStatus(error, 404)) throw refusalError(`${what} cannot be released`, error)
      print(`${what}: the cluster does not serve them as ${API_VERSION}`)
      return []
    }
  }
}

/** Sets the replicas of a Deployment to 0. Resolves with the line to print. */
async function stop({ client }: Cluster, { namespace, name }: { namespace: string; name: string }): Promise<string> {
  const path = `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/deployments/${encodeURIComponent(name)}/scale`
  const what = `Deployment ${namespace}/${name}`
  try {
    await client.object({ method: 'PATCH', path, contentType: MERGE_PATCH, body: { spec: { replicas: 0 } } })
    return `${what}: set to 0 replicas`
  } catch (error) {
    if (isStatus(error, 404)) return `${what}: not found`
    throw refusalError(`${what} cannot be stopped`, error)
  }
}
