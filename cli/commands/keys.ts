import { Option } from 'commander'
import type { Command } from 'commander'
import { addSettings, readConfig } from '../../process/config.ts'
import { PlainError } from '../../process/plain_error.ts'
import { KEYS_SETTINGS } from '../../process/settings.ts'
import { addClusterOptions, withCluster } from '../cluster_options.ts'
import type { KeyKind } from '../rotate_keys.ts'

interface RotateFlags {
  realm: string
  kind: KeyKind
}

/** `realmkeeper keys rotate`: makes the operator rotate the keys of a realm ahead of time. */
export function addKeysCommand(program: Command): void {
  const keys = program.command('keys').description('manage the keys of a realm')
  const command = keys
    .command('rotate')
    .description('make the operator rotate keys once, by an annotation; needs the right to patch the Realm')
    .requiredOption('--realm <name>', 'metadata.name of the Realm')
    .addOption(new Option('--kind <kind>', 'keys to rotate').choices(['signing', 'refresh']).makeOptionMandatory())
  addSettings(addClusterOptions(command), KEYS_SETTINGS).action(async ({ realm, kind }: RotateFlags) => {
    const { dir, as } = readConfig(command, KEYS_SETTINGS)
    const { rotateKeys, rotationAnnotation } = await import('../rotate_keys.ts')
    const now = new Date()
    if (dir !== undefined) {
      throw new PlainError(
        `this command does not change files: set ${rotationAnnotation(kind)}: "${now.toISOString()}" under ` +
          `metadata.annotations of Realm ${realm} in ${dir}. The keys are rotated once for each new value`,
      )
    }
    await withCluster(command, as, async (cluster) => {
      for (const line of await rotateKeys(cluster, { realm, kind, now })) console.log(line)
    })
  })
}
