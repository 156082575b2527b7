import { Option } from 'commander'
import type { Command } from 'commander'
import type { Db } from '../../store/db.ts'
import { AUDIT_SETTINGS } from '../../process/settings.ts'
import { loggableText } from '../../process/loggable.ts'
import { chainLine, entryLine } from '../audit/entry_text.ts'
import type { EntryFilter } from '../audit/list_entries.ts'
import { parseSince } from '../audit/since.ts'
import { stateDirectoryOf } from '../dev/state_directory.ts'
import { addSettings, readConfig } from '../../process/config.ts'
import { PlainError } from '../../process/plain_error.ts'

interface Output {
  output: 'text' | 'json'
}

/** `realmkeeper audit` and `realmkeeper audit verify`: who asked, who decided, who was given what, and whether that was tampered with. */
export function addAuditCommand(program: Command): void {
  const audit = program.command('audit').description('list requests, decisions, grants, revocations and expiries')
  const list = audit
    .command('list', { isDefault: true })
    .description('list what was recorded, the oldest first')
    .option('--realm <name>', 'only of this realm')
    .option('--since <time>', 'only from then on: 24h, 7d, 2026-01-31', (text) => parseSince(text, new Date()))
    .option('--assignment <name>', 'only about this RoleAssignment: its name, namespace/name or uid')
    .option('--all', 'also what is not about RoleAssignments: sessions and keys')
    .addOption(outputOption())
  addSettings(list, AUDIT_SETTINGS).action(async ({ output, ...filter }: Output & EntryFilter) => {
    await onDatabase(list, async (db) => {
      const { listEntries } = await import('../audit/list_entries.ts')
      let count = 0
      for await (const entries of listEntries(db, filter)) {
        count += entries.length
        // One object a line: a log of any length can be read as it comes.
        for (const entry of entries) console.log(output === 'json' ? JSON.stringify(entry) : entryLine(entry))
      }
      if (count === 0 && output === 'text') console.log('nothing is recorded that matches')
    })
  })

  const verify = audit
    .command('verify')
    .description('check that no row was changed, dropped or put in between; exit code 1 when one was')
    .addOption(outputOption())
  addSettings(verify, AUDIT_SETTINGS).action(async ({ output }: Output) => {
    await onDatabase(verify, async (db) => {
      const { verifyChains } = await import('../audit/verify_chains.ts')
      const checks = await verifyChains(db)
      for (const check of checks) console.log(output === 'json' ? JSON.stringify(check) : chainLine(check))
      if (checks.length === 0 && output === 'text') console.log('nothing is recorded yet')
      if (checks.some(({ brokenAt }) => brokenAt !== undefined)) process.exitCode = 1
    })
  })
}

async function onDatabase(command: Command, work: (db: Db) => Promise<void>): Promise<void> {
  const connectionString = await databaseUrlOf(command)
  const { createPool } = await import('../../store/db.ts')
  const { schemaState } = await import('../../store/migrate.ts')
  const pool = createPool({ connectionString, applicationName: 'realmkeeper-audit', queryTimeoutMillis: 60_000 })
  try {
    if ((await schemaState(pool).catch(unreadable)) === 'behind') {
      throw new PlainError('the schema of the database is not up to date: run "realmkeeper migrate", or the operator')
    }
    await work(pool)
  } finally {
    await pool.end()
  }
}

async function databaseUrlOf(command: Command): Promise<string> {
  const { databaseUrl, dir, stateDir } = readConfig(command, AUDIT_SETTINGS)
  if (databaseUrl !== undefined) return databaseUrl
  if (dir === undefined) {
    throw new PlainError(
      'which database? Give --database-url (REALMKEEPER_DATABASE_URL), or --dir (REALMKEEPER_DIR) of a running "realmkeeper dev"',
    )
  }
  const { runningPostgresUrl } = await import('../dev/embedded_postgres.ts')
  const state = stateDirectoryOf(dir, stateDir)
  const url = await runningPostgresUrl(`${state}/postgres`)
  if (url !== undefined) return url
  throw new PlainError(`no database is running for ${state}: start "realmkeeper dev", or give --database-url`)
}

function unreadable(error: unknown): never {
  if (error instanceof Error && error.name === 'SchemaMismatch') throw error
  throw new PlainError(
    `the database cannot be read: ${loggableText(error instanceof Error ? error.message : String(error))}`,
  )
}

function outputOption(): Option {
  return new Option('-o, --output <format>', 'how it is printed; json is one object a line')
    .choices(['text', 'json'])
    .default('text')
}
