import type { Pool } from 'pg'
import { firstBrokenLink, readAudit } from '../../store/audit.ts'
import type { AuditRow } from '../../store/audit.ts'
import { readWriters } from '../../store/operator/audit_heads.ts'
import type { ChainHead } from '../../store/operator/audit_heads.ts'
import type { Db } from '../../store/db.ts'
import type { SignatureCheck } from './verify_signature.ts'

/** A row that a chain must have, because the operator published it. */
export type ExpectedHead = ChainHead

export interface ChainCheck {
  writer: string
  /** Number of intact rows at the beginning of the chain. */
  rows: number
  /** The last of them, as `<seq>:<hash>`. */
  head: string | undefined
  /** `seq` of the first row that does not continue the chain. */
  brokenAt?: number
  /** The last row that a verified signature covers. */
  signed?: { seq: number; at: string }
  /** `seq` of the last row that was expected and found. */
  expectedUpTo?: number
  /** Rows that the chain must have and does not have. */
  problems: string[]
}

/** A row that a chain must have, with the reason. */
interface Required extends ChainHead {
  why: string
}

/**
 * Checks the chain of every writer up to its first break, and that it has the signed and the expected rows. Rows that
 * are written in the meantime are included.
 */
export async function* verifyChains(
  pool: Pool,
  expected: readonly ExpectedHead[],
  signature: SignatureCheck | undefined,
): AsyncGenerator<ChainCheck> {
  const left = new Set([...expected.map(({ writer }) => writer), ...(signature?.heads.keys() ?? [])])
  for await (const writer of readWriters(pool, 'all')) {
    left.delete(writer)
    yield await verifyChain(pool, writer, expected, signature)
  }
  // Chains of which no row is left.
  for (const writer of left) yield await verifyChain(pool, writer, expected, signature)
}

async function verifyChain(
  db: Db,
  writer: string,
  expected: readonly ExpectedHead[],
  signature: SignatureCheck | undefined,
): Promise<ChainCheck> {
  const signedHead = signature?.heads.get(writer)
  const given = expected.filter((head) => head.writer === writer).map((head) => ({ ...head, why: 'is expected' }))
  const signed = signedHead && { ...signedHead, why: `was signed at ${signedHead.signedAt.toISOString()}` }
  const required: Required[] = [...given, ...(signed ? [signed] : [])]
  const problems: string[] = []
  let last: AuditRow | undefined
  let rows = 0

  function result(brokenAt?: number): ChainCheck {
    const head = last && `${last.seq}:${last.hash.toString('hex')}`
    const reached = last?.seq ?? 0
    if (brokenAt === undefined) {
      for (const { seq, why } of required) {
        if (seq > reached) problems.push(`row ${seq}, which ${why}, is gone: the chain ends with row ${reached}`)
      }
    }
    const upTo = Math.max(0, ...given.map(({ seq }) => seq))
    const isGood = brokenAt === undefined && problems.length === 0
    return {
      writer,
      rows,
      head,
      ...(brokenAt !== undefined && { brokenAt }),
      ...(isGood && signedHead && { signed: { seq: signedHead.seq, at: signedHead.signedAt.toISOString() } }),
      ...(isGood && upTo > 0 && { expectedUpTo: upTo }),
      problems,
    }
  }

  for (;;) {
    // Begins below every number, because an inserted row may have one below 1.
    const page = await readAudit(db, writer, last?.seq ?? Number.MIN_SAFE_INTEGER)
    const broken = firstBrokenLink(page, last)
    const intact = broken ? page.slice(0, page.indexOf(broken)) : page
    for (const { seq, hash, why } of required) {
      const found = intact.find((row) => row.seq === seq)
      if (found && !found.hash.equals(hash)) problems.push(`row ${seq} is not the one that ${why}`)
    }
    rows += intact.length
    last = intact.at(-1) ?? last
    if (broken) return result(broken.seq)
    if (page.length === 0) return result()
  }
}
