import type { Command } from 'commander'
import { isPlainError, PlainError, UsageError } from '../process/plain_error.ts'
import type { Cluster } from './cluster.ts'

interface ClusterFlags {
  kubeconfig?: string
  context?: string
  namespace?: string
  asGroup?: string[]
}

/** Adds the options that select a cluster, a namespace and groups, with the names that kubectl gives them. */
export function addClusterOptions(command: Command): Command {
  command.option('-n, --namespace <name>', 'namespace; default: that of the context')
  return addKubeconfigOptions(command).option(
    '--as-group <name>',
    'group to act as, together with --as; may be repeated',
    append,
  )
}

/** Adds the options that select a cluster. */
export function addKubeconfigOptions(command: Command): Command {
  return command
    .option(
      '--kubeconfig <file>',
      'cluster and credentials; default: KUBECONFIG, ~/.kube/config, then the ServiceAccount of the pod',
    )
    .option('--context <name>', 'context of the kubeconfig')
}

function append(name: string, before: string[] = []): string[] {
  return [...before, name]
}

/** Connects to the cluster that the options select, passes it to `use`, and closes it. Throws PlainError. */
export async function withCluster<Result>(
  command: Command,
  as: string | undefined,
  use: (cluster: Cluster) => Promise<Result>,
): Promise<Result> {
  const { kubeconfig, context, namespace, asGroup: asGroups } = command.opts<ClusterFlags>()
  if (asGroups && as === undefined) throw new UsageError('--as-group needs --as, the user who is in these groups')
  // The Kubernetes client is half of what the command loads, and directories do not need it.
  const { connectCluster } = await import('./cluster.ts')
  let cluster: Cluster
  try {
    cluster = connectCluster({ kubeconfig, context, namespace, as, asGroups })
  } catch (error) {
    if (!isPlainError(error)) throw error
    const message = `${error.message}; for the manifests that "realmkeeper dev" serves give --dir`
    throw new PlainError(message, { cause: error })
  }
  try {
    return await use(cluster)
  } finally {
    cluster.close()
  }
}
