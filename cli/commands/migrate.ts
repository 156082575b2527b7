import type { Command } from 'commander'
import { MIGRATE_SETTINGS } from '../../process/settings.ts'
import { loggableText } from '../../process/loggable.ts'
import { addSettings, readConfig } from '../../process/config.ts'
import { isPlainError, PlainError } from '../../process/plain_error.ts'

/** `realmkeeper migrate`: what the operator does at start, as a step of its own. */
export function addMigrateCommand(program: Command): void {
  const command = program.command('migrate').description('bring the schema of the database to the newest version')
  addSettings(command, MIGRATE_SETTINGS).action(async () => {
    const { databaseUrl } = readConfig(command, MIGRATE_SETTINGS)
    const { migrate } = await import('../../store/migrate.ts')
    const applied = await migrate(databaseUrl).catch((error: unknown) => {
      if (isPlainError(error)) throw error
      throw new PlainError(
        `the database cannot be migrated: ${loggableText(error instanceof Error ? error.message : String(error))}`,
      )
    })
    console.log(applied.length === 0 ? 'the schema is up to date' : `applied ${applied.join(', ')}`)
  })
}
