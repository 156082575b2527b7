import type { Command } from 'commander'
import { MIGRATE_SETTINGS } from '../../process/settings.ts'
import { errorText } from '../../process/loggable.ts'
import { addSettings, readConfig } from '../../process/config.ts'
import { isPlainError, PlainError } from '../../process/plain_error.ts'

/** `realmkeeper migrate`: the migrations that the operator also runs when it starts. */
export function addMigrateCommand(program: Command): void {
  const command = program
    .command('migrate')
    .description('migrate the database schema to the newest version, and give roles of PostgreSQL their rights')
  addSettings(command, MIGRATE_SETTINGS).action(async () => {
    const { databaseUrl, serverDatabaseRole, operatorDatabaseRole } = readConfig(command, MIGRATE_SETTINGS)
    const roles = { server: serverDatabaseRole, operator: operatorDatabaseRole }
    const { migrate } = await import('../../store/schema/migrate.ts')
    const applied = await migrate(databaseUrl, { roles }).catch((error: unknown) => {
      if (isPlainError(error)) throw error
      throw new PlainError(`the database cannot be migrated: ${errorText(error)}`)
    })
    console.log(applied.length === 0 ? 'the schema is up to date' : `applied ${applied.join(', ')}`)
  })
}
