import type { Command } from 'commander'
import { SERVER_SETTINGS } from '../../process/settings.ts'
import { addSettings, readConfig } from '../../process/config.ts'
import { startProcess } from '../start_process.ts'

/** `realmkeeper server`. */
export function addServerCommand(program: Command): void {
  const command = program
    .command('server')
    .description('run the server: OAuth, OpenID Connect and field encryption over HTTP')
  addSettings(command, SERVER_SETTINGS).action(async () => {
    const config = readConfig(command, SERVER_SETTINGS)
    const { runServer } = await import('../../server/main.ts')
    await startProcess('server', config, (surroundings) => runServer(config, surroundings))
  })
}
