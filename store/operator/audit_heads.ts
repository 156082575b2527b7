import { createHash } from 'node:crypto'
import { timeText } from '../audit.ts'
import type { Db } from '../db.ts'

/** A row of a chain that stands for all rows before it. */
export interface ChainHead {
  writer: string
  seq: number
  hash: Buffer
}

/** The last row of a chain that the operator has signed. */
export interface SignedHead extends ChainHead {
  /** The order in which chains were first signed, from 1. */
  position: number
  signedAt: Date
}

/** A signed head, and what the chain is now. */
export interface ComparedHead extends SignedHead {
  /** Hash of the row `seq` now; null when there is none. */
  foundHash: Buffer | null
  /** Number of the last row of the chain now; null when the chain has none. */
  lastSeq: number | null
}

const PAGE = 1_000

/** Every signed head in the order of the positions, page by page. Reads no row of a chain except two for each head. */
export async function* readSignedHeads(db: Db): AsyncGenerator<ComparedHead> {
  for (let after = 0; ;) {
    const { rows } = await db.query<Record<'position' | 'seq' | 'lastSeq', string> & ComparedHead>(
      `select h.position, h.writer, h.seq, h.hash, h.signed_at as "signedAt",
              (select a.hash from audit a where a.writer = h.writer and a.seq = h.seq) as "foundHash",
              (select max(a.seq) from audit a where a.writer = h.writer) as "lastSeq"
         from audit_heads h where h.position > $1 order by h.position limit $2`,
      [after, PAGE],
    )
    for (const row of rows) {
      const lastSeq = row.lastSeq === null ? null : Number(row.lastSeq)
      yield { ...row, position: Number(row.position), seq: Number(row.seq), lastSeq }
    }
    if (rows.length < PAGE) return
    after = Number(rows.at(-1)?.position)
  }
}

/** Writers of the audit, page by page: all of them, or those whose chain has no signed head. */
export async function* readWriters(db: Db, which: 'all' | 'unsigned'): AsyncGenerator<string> {
  for (let after: string | null = null; ;) {
    const { rows }: { rows: { writer: string; isSigned: boolean }[] } = await db.query(NEXT_WRITERS, [after, PAGE])
    for (const { writer, isSigned } of rows) if (which === 'all' || !isSigned) yield writer
    if (rows.length < PAGE) return
    after = rows.at(-1)?.writer ?? null
  }
}

// Steps from one writer to the next in the index: `select distinct` would read every row. Without a join, the rows keep
// the order of the steps, and the limit ends them.
const NEXT_WRITERS = `
  with recursive writers as (
    (select writer from audit where $1::text is null or writer > $1 order by writer limit 1)
    union all
    select (select a.writer from audit a where a.writer > w.writer order by a.writer limit 1)
      from writers w where w.writer is not null
  )
  select writer, (select h.position from audit_heads h where h.writer = w.writer) is not null as "isSigned"
    from writers w where writer is not null limit $2`

/** Adds heads to a digest in the order of their positions. Two lists of heads have one digest only if they are equal. */
export function headsDigest(): { add(head: SignedHead): void; hex(): string } {
  const hash = createHash('sha256')
  return {
    add({ position, writer, seq, hash: head, signedAt }) {
      const line = JSON.stringify([position, writer, seq, head.toString('hex'), timeText(signedAt)])
      hash.update(`${line}\n`, 'utf8')
    },
    hex: () => hash.digest('hex'),
  }
}

/** The signature over the digest of all heads; undefined before the first one. */
export async function findAuditSignature(db: Db): Promise<string | undefined> {
  const { rows } = await db.query<{ jws: string }>('select jws from audit_signature')
  return rows[0]?.jws
}

/** Replaces the heads of these writers, and the signature. `reset` removes all former heads. Call it in a transaction. */
export async function writeSignedHeads(
  db: Db,
  { heads, removed, jws, reset }: { heads: SignedHead[]; removed: string[]; jws: string; reset: boolean },
): Promise<void> {
  if (reset) await db.query('delete from audit_heads')
  await db.query('delete from audit_heads where writer = any ($1)', [removed])
  await db.query(
    `insert into audit_heads (position, writer, seq, hash, signed_at)
     select * from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bytea[], $5::timestamptz[])
     on conflict on constraint audit_heads_writer do update
        set seq = excluded.seq, hash = excluded.hash, signed_at = excluded.signed_at`,
    [
      heads.map(({ position }) => position),
      heads.map(({ writer }) => writer),
      heads.map(({ seq }) => seq),
      heads.map(({ hash }) => hash),
      heads.map(({ signedAt }) => signedAt),
    ],
  )
  await db.query(
    `insert into audit_signature (jws) values ($1) on conflict (only_row) do update set jws = excluded.jws`,
    [jws],
  )
}
