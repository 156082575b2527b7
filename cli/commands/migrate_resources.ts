import type { Command } from 'commander'
import { addSettings, readConfig } from '../../process/config.ts'
import { MIGRATE_RESOURCES_SETTINGS } from '../../process/settings.ts'
import { addKubeconfigOptions, withCluster } from '../cluster_options.ts'

/** `realmkeeper migrate-resources`: after an upgrade that stores resources in another version. */
export function addMigrateResourcesCommand(program: Command): void {
  const command = program
    .command('migrate-resources')
    .description(
      'write all resources in the version that the cluster stores, and remove former versions from the ' +
        'CustomResourceDefinitions; changes no field, and may be repeated',
    )
  addSettings(addKubeconfigOptions(command), MIGRATE_RESOURCES_SETTINGS).action(async () => {
    const { as } = readConfig(command, MIGRATE_RESOURCES_SETTINGS)
    const { migrateResources } = await import('../storage/migrate_resources.ts')
    await withCluster(command, as, (cluster) => migrateResources(cluster, (line) => console.log(line)))
  })
}
