import type { Command } from 'commander'
import { OPERATOR_SETTINGS } from '../../process/settings.ts'
import { addSettings, readConfig } from '../../process/config.ts'
import { startProcess } from '../start_process.ts'

/** `realmkeeper operator`. */
export function addOperatorCommand(program: Command): void {
  const command = program
    .command('operator')
    .description('run the operator: migrate the database schema, then reconcile resources into rows')
  addSettings(command, OPERATOR_SETTINGS).action(async () => {
    const config = readConfig(command, OPERATOR_SETTINGS)
    const { runOperator } = await import('../../operator/main.ts')
    await startProcess('operator', config, (surroundings) => runOperator(config, surroundings))
  })
}
