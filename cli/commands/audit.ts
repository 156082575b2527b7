import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import type { Pool } from 'pg'
import { AUDIT_SETTINGS } from '../../process/settings.ts'
import { errorText } from '../../process/loggable.ts'
import { chainLines, conclusion } from '../audit/check_text.ts'
import { entryLine } from '../audit/entry_text.ts'
import type { EntryFilter } from '../audit/entries.ts'
import type { ExpectedHead } from '../audit/verify_chains.ts'
import { stateDirectoryOf } from '../dev/state_directory.ts'
import { addSettings, readConfig } from '../../process/config.ts'
import { isPlainError, PlainError, UsageError } from '../../process/plain_error.ts'

interface Output {
  output: 'text' | 'json'
}

/** `realmkeeper audit` and `realmkeeper audit verify`. */
export function addAuditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .description('list requests, decisions, grants, revocations and expiries of roles')
  const list = audit
    .command('list', { isDefault: true })
    .description('list audit entries, the oldest first')
    .option('--realm <name>', 'entries of this realm')
    .option('--since <time>', 'entries since then: 24h, 7d, 2026-01-31', (text) => parseSince(text, new Date()))
    .option('--assignment <name>', 'entries about this RoleAssignment: name, namespace/name or uid')
    .option('--all', 'include entries about sessions and keys')
    .addOption(outputOption())
  addSettings(list, AUDIT_SETTINGS).action(async ({ output, ...filter }: Output & EntryFilter) => {
    await onDatabase(list, async (pool) => {
      const { listEntries } = await import('../audit/entries.ts')
      let count = 0
      for await (const entries of listEntries(pool, filter)) {
        count += entries.length
        // JSON as one object per line: a reader needs no memory for the whole list.
        for (const entry of entries) console.log(output === 'json' ? JSON.stringify(entry) : entryLine(entry))
      }
      if (count === 0 && output === 'text') console.log('no audit entry matches')
    })
  })

  const verify = audit
    .command('verify')
    .description(
      'check that the chains of entries are unbroken, and with the options that they are those that the operator ' +
        'signed and published; exits with 1 when they are not',
    )
    .option('--audit-key <file>', 'public key that verifies the signature of the operator: PEM or JWK')
    .option('--expect-signature <number>', 'number of a signature in the log of the operator', parseNumber)
    .option(
      '--expect <writer=row:hash>',
      'row that a chain must have, as the operator logs it; may repeat',
      addExpected,
    )
    .addOption(outputOption())
  addSettings(verify, AUDIT_SETTINGS).action(
    async ({ output, auditKey, expectSignature, expect = [] }: VerifyOptions) => {
      if (expectSignature !== undefined && auditKey === undefined) {
        throw new UsageError('--expect-signature needs --audit-key: without the key, a number proves nothing')
      }
      await onDatabase(verify, async (pool) => {
        const { verifyChains } = await import('../audit/verify_chains.ts')
        const { verifySignature } = await import('../audit/verify_signature.ts')
        const signature = auditKey === undefined ? undefined : await verifySignature(pool, auditKey, expectSignature)
        let chains = 0
        let broken = signature?.problem === undefined ? 0 : 1
        for await (const check of verifyChains(pool, expect, signature)) {
          chains += 1
          if (check.brokenAt !== undefined || check.problems.length > 0) broken += 1
          for (const line of output === 'json' ? [JSON.stringify(check)] : chainLines(check)) console.log(line)
        }
        const concluded = conclusion(signature, { expected: expect, leastNumber: expectSignature })
        if (output === 'json') console.log(JSON.stringify({ signature: signature?.made ?? null, broken, concluded }))
        else console.log(chains === 0 && broken === 0 ? 'the audit log is empty' : `\n${concluded}`)
        if (broken > 0) throw new PlainError(WHAT_TO_DO)
      })
    },
  )
}

const WHAT_TO_DO =
  'the audit is not what was written: rows were changed or removed, or the database is older than what it is compared ' +
  'with (a restored backup). The lines marked BROKEN name writer and row; compare them with a backup and the log of the ' +
  'operator: docs/audit.md'

interface VerifyOptions extends Output {
  auditKey?: string
  expectSignature?: number
  expect?: ExpectedHead[]
}

async function onDatabase(command: Command, work: (pool: Pool) => Promise<void>): Promise<void> {
  const connectionString = await databaseUrlOf(command)
  const { createPool } = await import('../../store/db.ts')
  const { schemaState } = await import('../../store/schema/migrate.ts')
  const pool = createPool({ connectionString, applicationName: 'realmkeeper-audit', queryTimeoutMillis: 60_000 })
  try {
    if ((await schemaState(pool).catch(unreadable)) === 'behind') {
      throw new PlainError('the database schema is out of date: run "realmkeeper migrate", or start the operator')
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
      'no database is given: give --database-url (REALMKEEPER_DATABASE_URL), or --dir (REALMKEEPER_DIR) of a running "realmkeeper dev"',
    )
  }
  const { runningPostgresUrl } = await import('../dev/embedded_postgres.ts')
  const state = stateDirectoryOf(dir, stateDir)
  const url = await runningPostgresUrl(`${state}/postgres`)
  if (url !== undefined) return url
  throw new PlainError(`no database is running for ${state}: start "realmkeeper dev", or give --database-url`)
}

function unreadable(error: unknown): never {
  if (isPlainError(error)) throw error
  throw new PlainError(`the database cannot be read: ${errorText(error)}`)
}

function outputOption(): Option {
  return new Option('-o, --output <format>', 'output format; json is one object per line')
    .choices(['text', 'json'])
    .default('text')
}

const UNIT_MILLIS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `24h`, `7d`, or a time such as 2026-01-31 or 2026-01-31T12:00:00Z. Throws InvalidArgumentError. */
export function parseSince(text: string, now: Date): Date {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const millis = UNIT_MILLIS[unit]
  if (millis !== undefined) return new Date(now.getTime() - Number(count) * millis)
  // A time without a zone would depend on the machine.
  if (/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text)) {
    const time = new Date(text)
    if (!Number.isNaN(time.getTime())) return time
  }
  throw new InvalidArgumentError('give a duration, as 24h or 7d, or a time, as 2026-01-31T12:00:00Z')
}

function parseNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('give the number of a signature')
}

/** `writer=12:<hash>`, as the operator logs it. Throws InvalidArgumentError. */
function addExpected(text: string, before: ExpectedHead[] = []): ExpectedHead[] {
  const [, writer, seq, hash] = /^(.{1,512})=([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? []
  if (writer === undefined || hash === undefined) {
    throw new InvalidArgumentError('give a head as the operator logs it: writer=12:<64 hexadecimal digits>')
  }
  return [...before, { writer, seq: Number(seq), hash: Buffer.from(hash, 'hex') }]
}
