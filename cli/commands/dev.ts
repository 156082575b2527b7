import { resolve } from 'node:path'
import { Argument } from 'commander'
import type { Command } from 'commander'
import { DEV_SETTINGS } from '../../process/settings.ts'
import { addSettings, readConfig } from '../../process/config.ts'
import { UsageError } from '../../process/plain_error.ts'

/** `realmkeeper dev`: everything on this machine, from a directory of manifests. */
export function addDevCommand(program: Command): void {
  const command = program
    .command('dev')
    .description('serve a directory of manifests on this machine, with a PostgreSQL of its own and no cluster')
    .addArgument(new Argument('[dir]', 'the directory of manifests; it is watched'))
    .option('--quickstart', 'serve a working copy of examples/quickstart, .realmkeeper/quickstart/manifests')
  addSettings(command, DEV_SETTINGS).action(async (dir: string | undefined, { quickstart }: { quickstart?: true }) => {
    if ((dir === undefined) === (quickstart === undefined)) {
      throw new UsageError('give a directory of manifests, or --quickstart: realmkeeper dev ./manifests')
    }
    const config = readConfig(command, DEV_SETTINGS)
    const { runDev } = await import('../dev/dev.ts')
    const { prepareQuickstart, QUICKSTART_DIRECTORY } = await import('../dev/quickstart.ts')
    const { tour } = await import('../dev/tour.ts')

    const directory = dir ?? QUICKSTART_DIRECTORY
    if (quickstart && (await prepareQuickstart())) console.log(`copied examples/quickstart to ${QUICKSTART_DIRECTORY}`)
    await runDev({
      directory: resolve(directory),
      config,
      closingWords: (baseUrl) => (quickstart ? tour({ baseUrl, directory }) : hint(directory)),
      say: console.log,
      now: () => new Date(),
    })
  })
}

function hint(directory: string): string {
  return `What waits for approval: npx realmkeeper pending --dir ${directory}`
}
