import { Command } from 'commander'
import { addSettings, readConfig } from '../../process/config.ts'
import type { Settings, Values } from '../../process/setting.ts'

/** The configuration that a command with these settings reads from arguments and an environment. Throws ConfigError. */
export function configFrom<Table extends Settings>(
  table: Table,
  args: string[],
  environment: NodeJS.ProcessEnv = {},
): Values<Table> {
  const ours = process.env
  process.env = environment
  try {
    return readConfig(addSettings(new Command().exitOverride(), table).parse(args, { from: 'user' }), table)
  } finally {
    process.env = ours
  }
}
