import type { Command } from 'commander'
import type { Cluster } from '../kubeconfig.ts'
import { PlainError, UsageError } from '../../process/plain_error.ts'

interface ClusterFlags {
  kubeconfig?: string
  context?: string
  namespace?: string
  asGroup?: string[]
}

/** Gives a command the options that say which cluster, as kubectl spells them. */
export function addClusterOptions(command: Command): Command {
  return command
    .option('-n, --namespace <name>', 'namespace (default: the one of the context)')
    .option(
      '--kubeconfig <file>',
      'who you are in which cluster (default: KUBECONFIG, ~/.kube/config, the ServiceAccount of a pod)',
    )
    .option('--context <name>', 'context of the kubeconfig')
    .option('--as-group <name>', 'group to act as a member of, beside --as; may be given several times', appended)
}

function appended(name: string, before: string[] = []): string[] {
  return [...before, name]
}

/** Connects to the cluster that the options name, gives it to `use`, and closes it. Throws PlainError. */
export async function withCluster(
  command: Command,
  as: string | undefined,
  use: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  const { kubeconfig, context, namespace, asGroup: asGroups } = command.opts<ClusterFlags>()
  if (asGroups && as === undefined) throw new UsageError('--as-group says which groups somebody is in: who, says --as')
  // Half of what the command would load; directories do without.
  const { connectCluster } = await import('../kubeconfig.ts')
  const { ApiAccessError } = await import('../../kubernetes/access.ts')
  let cluster: Cluster
  try {
    cluster = connectCluster({ kubeconfig, context, namespace, as, asGroups })
  } catch (error) {
    if (!(error instanceof ApiAccessError)) throw error
    throw new PlainError(`${error.message}; for the manifests that "realmkeeper dev" serves give --dir`, {
      cause: error,
    })
  }
  try {
    await use(cluster)
  } finally {
    cluster.close()
  }
}
