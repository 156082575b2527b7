import { Option } from 'commander'
import type { Command } from 'commander'
import { KEYS_SETTINGS } from '../../process/settings.ts'
import { addSettings, readConfig } from '../../process/config.ts'
import { PlainError } from '../../process/plain_error.ts'
import { addClusterOptions, withCluster } from './cluster_options.ts'

interface RotateFlags {
  realm: string
  kind: 'signing' | 'refresh'
}

/** `realmkeeper keys rotate`: has the operator rotate a realm's keys ahead of time. */
export function addKeysCommand(program: Command): void {
  const keys = program.command('keys').description("a realm's keys")
  const command = keys
    .command('rotate')
    .description('set the annotation that has the operator rotate once; needs the right to patch the Realm')
    .requiredOption('--realm <name>', 'metadata.name of the Realm')
    .addOption(new Option('--kind <kind>', 'which keys').choices(['signing', 'refresh']).makeOptionMandatory())
  addSettings(addClusterOptions(command), KEYS_SETTINGS).action(async ({ realm, kind }: RotateFlags) => {
    const { dir, as } = readConfig(command, KEYS_SETTINGS)
    const { rotateKeys, rotationAnnotation } = await import('../keys/rotate_keys.ts')
    const now = new Date()
    if (dir !== undefined) {
      throw new PlainError(
        `in a directory the annotation is yours to write: set ${rotationAnnotation(kind)}: "${now.toISOString()}" under ` +
          `metadata.annotations of Realm ${realm} in ${dir}. The keys are rotated once for each new value`,
      )
    }
    await withCluster(command, as, async (cluster) => {
      for (const line of await rotateKeys(cluster, { realm, kind, now })) console.log(line)
    })
  })
}
