import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import type { Db } from './db.ts'
import { inTransaction } from './db.ts'

/** One audited action. `details` never holds a secret or the value of a field. */
export interface AuditEntry {
  at: Date
  action: AuditAction
  realm: string
  details: Record<string, string | number | boolean | null | string[]>
}

export type AuditAction =
  | 'assignment_requested'
  | 'assignment_decided'
  | 'roles_granted'
  | 'roles_revoked'
  | 'roles_expired'
  | 'session_ended'
  | 'refresh_token_reused'
  | 'keys_changed'
  | 'key_loss_accepted'
  | 'keyring_accepted'
  | 'realm_transferred'
  | 'governance_lowered'
  | 'audit_break_accepted'

export interface AuditRow {
  writer: string
  seq: number
  at: Date
  action: string
  realm: string
  details: string
  previousHash: Buffer
  hash: Buffer
}

const COLUMNS = 'writer, seq, at, action, realm, details, previous_hash as "previousHash", hash'

/** A bigint arrives as text. */
type StoredRow = Omit<AuditRow, 'seq'> & { seq: string }

/**
 * Appends to one writer's chain: each row's hash covers the one before it. Runs in the caller's transaction, so that
 * the action and its record commit together; a writer's appends wait for its last row.
 */
export async function appendAudit(db: Db, writer: string, entries: AuditEntry[]): Promise<void> {
  if (entries.length === 0) return
  // Writers of one chain wait for each other: two rows with one predecessor would be a fork.
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 7271003))', [writer])
  const last = await lastAuditRow(db, writer)
  let seq = last?.seq ?? 0
  let previousHash = last?.hash ?? Buffer.alloc(32)
  for (const entry of entries) {
    seq += 1
    const details = JSON.stringify(entry.details)
    const hash = chainHash({ ...entry, writer, seq, details, previousHash })
    await db.query(
      `insert into audit (writer, seq, at, action, realm, details, previous_hash, hash)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [writer, seq, entry.at, entry.action, entry.realm, details, previousHash, hash],
    )
    previousHash = hash
  }
}

/** As `appendAudit`, in a transaction of its own. */
export async function recordAudit(pool: Pool, writer: string, entries: AuditEntry[]): Promise<void> {
  await inTransaction(pool, (db) => appendAudit(db, writer, entries))
}

/** Where one writer's chain ends; undefined without rows. */
export async function lastAuditRow(
  db: Db,
  writer: string,
): Promise<Pick<AuditRow, 'writer' | 'seq' | 'hash'> | undefined> {
  const { rows } = await db.query<Pick<StoredRow, 'seq' | 'hash'>>(
    'select seq, hash from audit where writer = $1 order by seq desc limit 1',
    [writer],
  )
  return rows[0] && { writer, seq: Number(rows[0].seq), hash: rows[0].hash }
}

/** One writer's rows in order, from after `seq`. */
export async function readAudit(db: Db, writer: string, afterSeq = 0, limit = 1_000): Promise<AuditRow[]> {
  const { rows } = await db.query<StoredRow>(
    `select ${COLUMNS} from audit where writer = $1 and seq > $2 order by seq limit $3`,
    [writer, afterSeq, limit],
  )
  return rows.map((row) => ({ ...row, seq: Number(row.seq) }))
}

export interface AuditFilter {
  actions?: readonly string[] | undefined
  realm?: string | undefined
  since?: Date | undefined
}

/** Rows of all writers by time, page by page: `after` is the last row of the page before. */
export async function listAudit(
  db: Db,
  filter: AuditFilter,
  after?: Pick<AuditRow, 'at' | 'writer' | 'seq'>,
  limit = 1_000,
): Promise<AuditRow[]> {
  const { rows } = await db.query<StoredRow>(
    `select ${COLUMNS} from audit
      where ($1::text[] is null or action = any ($1)) and ($2::text is null or realm = $2)
        and ($3::timestamptz is null or at >= $3)
        and ($4::timestamptz is null or (at, writer, seq) > ($4, $5::text, $6::bigint))
      order by at, writer, seq limit $7`,
    [
      filter.actions ?? null,
      filter.realm ?? null,
      filter.since ?? null,
      after?.at ?? null,
      after?.writer ?? null,
      after?.seq ?? null,
      limit,
    ],
  )
  return rows.map((row) => ({ ...row, seq: Number(row.seq) }))
}

/** The first row of a chain that does not follow from the one before it; undefined when all do. */
export function firstBrokenLink(rows: AuditRow[], previous?: Pick<AuditRow, 'seq' | 'hash'>): AuditRow | undefined {
  let seq = previous?.seq ?? 0
  let previousHash = previous?.hash ?? Buffer.alloc(32)
  for (const row of rows) {
    if (row.seq !== seq + 1 || !row.previousHash.equals(previousHash) || !row.hash.equals(chainHash(row))) return row
    seq = row.seq
    previousHash = row.hash
  }
  return undefined
}

function chainHash(row: Omit<AuditRow, 'hash'>): Buffer {
  const text = JSON.stringify([row.writer, row.seq, timeText(row.at), row.action, row.realm, row.details])
  return createHash('sha256').update(row.previousHash).update(text, 'utf8').digest()
}

/** A time of a row. PostgreSQL stores times that are no `Date`, such as `infinity`; a forged row may have one. */
export function timeText(at: Date): string {
  return at instanceof Date && !Number.isNaN(at.getTime()) ? at.toISOString() : String(at)
}
