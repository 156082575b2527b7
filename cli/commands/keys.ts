import { Option } from 'commander'
import type { Command } from 'commander'
import { APPROVER_SETTINGS } from '../../process/settings.ts'
import { addSettings, configOf } from '../options.ts'
import { PlainError } from '../plain_error.ts'
import { addClusterOptions, withCluster } from './cluster_options.ts'

interface RotateFlags {
  realm: string
  kind: 'signing' | 'refresh'
}

const SETTINGS = {
  dir: { ...APPROVER_SETTINGS.dir, description: 'manifests that "realmkeeper dev" serves; says what to write there' },
  as: { ...APPROVER_SETTINGS.as, description: 'user to act as (default: the kubeconfig’s)' },
}

/** `realmkeeper keys rotate`: has the operator rotate a realm's keys ahead of time. */
export function addKeysCommand(program: Command): void {
  const keys = program.command('keys').description("a realm's keys")
  const command = keys
    .command('rotate')
    .description('set the annotation that has the operator rotate once; needs the right to patch the Realm')
    .requiredOption('--realm <name>', 'metadata.name of the Realm')
    .addOption(new Option('--kind <kind>', 'which keys').choices(['signing', 'refresh']).makeOptionMandatory())
  addSettings(addClusterOptions(command), SETTINGS).action(async ({ realm, kind }: RotateFlags) => {
    const { dir, as } = configOf(command, SETTINGS)
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
