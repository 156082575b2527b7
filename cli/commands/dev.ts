import { resolve } from 'node:path'
import { Argument } from 'commander'
import type { Command } from 'commander'
import { DEV_SETTINGS } from '../../process/settings.ts'
import { addSettings, readConfig } from '../../process/config.ts'
import { UsageError } from '../../process/plain_error.ts'

/** `realmkeeper dev`: PostgreSQL, operator and server on this machine, for a directory of manifests. */
export function addDevCommand(program: Command): void {
  const command = program
    .command('dev')
    .description('run everything on this machine for a directory of manifests, with its own PostgreSQL and no cluster')
    .addArgument(new Argument('[dir]', 'directory of manifests, which is watched for changes'))
    .option('--quickstart', 'use .realmkeeper/quickstart/manifests, a working copy of examples/quickstart')
  addSettings(command, DEV_SETTINGS).action(async (dir: string | undefined, { quickstart }: { quickstart?: true }) => {
    if ((dir === undefined) === (quickstart === undefined)) {
      throw new UsageError('give a directory of manifests, or --quickstart: realmkeeper dev ./manifests')
    }
    const config = readConfig(command, DEV_SETTINGS)
    const { runDev } = await import('../dev/dev.ts')
    const { createQuickstart, QUICKSTART_DIRECTORY, tour } = await import('../dev/quickstart.ts')

    const directory = dir ?? QUICKSTART_DIRECTORY
    if (quickstart && (await createQuickstart())) console.log(`copied examples/quickstart to ${QUICKSTART_DIRECTORY}`)
    await runDev({
      directory: resolve(directory),
      config,
      nextSteps: (baseUrl) => (quickstart ? tour({ baseUrl, directory }) : hint(directory)),
      print: console.log,
      now: () => new Date(),
    })
  })
}

function hint(directory: string): string {
  return `To list what waits for approval: npx realmkeeper pending --dir ${directory}`
}
