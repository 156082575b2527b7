import type { Command } from 'commander'
import { addSettings, readConfig } from '../../process/config.ts'
import { PlainError, UsageError } from '../../process/plain_error.ts'
import { RELEASE_SETTINGS } from '../../process/settings.ts'
import { namespaces } from '../../process/setting.ts'
import { addKubeconfigOptions, withCluster } from '../cluster_options.ts'

interface ReleaseFlags {
  namespace?: string[]
  allNamespaces?: boolean
  lease: boolean
}

/** Most objects that the error names. */
const MAX_SHOWN = 20

/** `realmkeeper release`: removes the finalizer of the operator from all objects, before or after an uninstall. */
export function addReleaseCommand(program: Command): void {
  const command = program
    .command('release')
    .description(
      'remove the finalizer of the operator from Realms, Clients, Users and RoleAssignments, so that they and their ' +
        'namespaces can be deleted without an operator; rows in PostgreSQL and keys stay',
    )
    .option('-n, --namespace <name,…>', 'namespaces of the objects', namespaces)
    .option('-A, --all-namespaces', 'objects of all namespaces')
  addKubeconfigOptions(command).option('--no-lease', 'do not take the Lease: only where no operator is installed')
  addSettings(command, RELEASE_SETTINGS).action(async ({ namespace, allNamespaces, lease }: ReleaseFlags) => {
    const hasNames = namespace !== undefined && namespace.length > 0
    if (hasNames === (allNamespaces === true)) {
      throw new UsageError('give either --namespace or --all-namespaces')
    }
    const { leaseName: name, leaseNamespace, stopDeployment, waitSeconds, as } = readConfig(command, RELEASE_SETTINGS)
    const { release } = await import('../release/release.ts')
    const failures = await withCluster(command, as, (cluster) =>
      release(cluster, {
        namespaces: hasNames ? namespace : [undefined],
        lease: lease ? { namespace: leaseNamespace, name, waitSeconds } : undefined,
        stopDeployment: stopDeployment === undefined ? undefined : { namespace: leaseNamespace, name: stopDeployment },
        print: (line) => console.log(line),
      }),
    )
    if (failures.length === 0) return
    const shown = failures.slice(0, MAX_SHOWN).map((line) => `\n  ${line}`)
    throw new PlainError(`${failures.length} objects keep the finalizer; run the command again:${shown.join('')}`)
  })
}
