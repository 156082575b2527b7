import { createHash } from 'node:crypto'
import { readAudit } from '../../store/audit.ts'
import { readWriters } from '../../store/operator/audit_heads.ts'
import type { Db } from '../../store/db.ts'

/** Every writer of the audit, or those whose chain has no signed head. */
export async function writersOf(db: Db, which: 'all' | 'unsigned' = 'all'): Promise<string[]> {
  const writers: string[] = []
  for await (const writer of readWriters(db, which)) writers.push(writer)
  return writers
}

/** Changes tables as their owner can, past the triggers. */
export async function asOwner(db: Db, ...statements: string[]): Promise<void> {
  for (const table of ['audit', 'audit_heads', 'audit_signature']) {
    await db.query(`alter table ${table} disable trigger all`)
  }
  for (const statement of statements) await db.query(statement)
}

/** Replaces the details of a row, and computes the hashes of it and of all later rows again. */
export async function rewriteChain(db: Db, writer: string, seq: number, details: string): Promise<void> {
  await asOwner(db)
  await db.query('update audit set details = $3 where writer = $1 and seq = $2', [writer, seq, details])
  const [before] = seq === 1 ? [] : await readAudit(db, writer, seq - 2, 1)
  let previous = before?.hash ?? Buffer.alloc(32)
  for (const row of await readAudit(db, writer, seq - 1)) {
    const text = JSON.stringify([writer, row.seq, row.at.toISOString(), row.action, row.realm, row.details])
    const hash = createHash('sha256').update(previous).update(text, 'utf8').digest()
    await db.query('update audit set previous_hash = $3, hash = $4 where writer = $1 and seq = $2', [
      writer,
      row.seq,
      previous,
      hash,
    ])
    previous = hash
  }
}
