import { firstBrokenLink, readAudit } from '../../store/audit.ts'
import type { AuditRow } from '../../store/audit.ts'
import { headsDigest, readSignedHeads, readWriters } from '../../store/operator/audit_heads.ts'
import type { ChainHead, SignedHead } from '../../store/operator/audit_heads.ts'
import type { Db } from '../../store/db.ts'

/** A chain that does not continue what was signed. */
export interface ChainBreak {
  writer: string
  /** The signed row that is missing or another one, or the first row after it that does not follow. */
  seq: number
  what: 'missing' | 'replaced' | 'broken'
  /** The last signed row; undefined when no row of this chain was signed. */
  signed: ChainHead | undefined
}

export interface ChainsCheck {
  /** Of the signed heads, as read. When it is not the trusted one, the other members mean nothing. */
  digest: string
  /** Verified rows that continue what was signed, at most one for each writer. */
  grown: ChainHead[]
  /** At most `MOST_BREAKS` of them. */
  breaks: ChainBreak[]
  breakCount: number
  /** A bound was reached: call again after signing. */
  hasMore: boolean
}

const MOST_BREAKS = 100
/** Bounds of one check. */
const MOST_WRITERS = 1_000
const MOST_ROWS = 50_000
/** A row has at most 1 MB (`audit_bounds`). */
const ROWS_A_PAGE = 50

/**
 * Compares every chain with its signed head, and verifies the rows after it. Reads new rows only, and one or two rows of
 * each chain. Its memory does not grow with the tables.
 * @param ignoreHeads as if nothing was signed yet
 */
export async function checkChains(
  db: Db,
  { ignoreHeads = false, signal }: { ignoreHeads?: boolean; signal: AbortSignal },
): Promise<ChainsCheck> {
  const digest = headsDigest()
  const check: ChainsCheck = { digest: '', grown: [], breaks: [], breakCount: 0, hasMore: false }
  const longer: SignedHead[] = []
  let rowsLeft = MOST_ROWS

  function report(found: ChainBreak): void {
    check.breakCount += 1
    if (check.breaks.length < MOST_BREAKS) check.breaks.push(found)
  }

  /** False when a bound is reached. */
  async function follow(writer: string, signed: ChainHead | undefined): Promise<boolean> {
    const result = await lastIntact(db, writer, signed, rowsLeft, signal)
    // Broken chains, which stay, must not use up the bound: others would never be reached.
    if (result.last) rowsLeft -= result.rows
    if (result.brokenAt !== undefined) report({ writer, seq: result.brokenAt, what: 'broken', signed })
    if (result.last) check.grown.push(result.last)
    return rowsLeft > 0 && check.grown.length < MOST_WRITERS && !signal.aborted
  }

  for await (const head of ignoreHeads ? [] : readSignedHeads(db)) {
    digest.add(head)
    const { writer, seq, foundHash, lastSeq } = head
    if (foundHash?.equals(head.hash) !== true) {
      report({ writer, seq, what: foundHash ? 'replaced' : 'missing', signed: head })
    } else if (lastSeq !== null && lastSeq > seq) {
      if (longer.length < MOST_WRITERS) longer.push(head)
      else check.hasMore = true
    }
  }
  check.digest = digest.hex()

  for (const head of longer) if (!(await follow(head.writer, head))) return withMore(check)
  for await (const writer of readWriters(db, ignoreHeads ? 'all' : 'unsigned')) {
    if (!(await follow(writer, undefined))) return withMore(check)
  }
  return check
}

/** Another check without progress would not end. */
function withMore(check: ChainsCheck): ChainsCheck {
  return { ...check, hasMore: check.grown.length > 0 }
}

/** Follows a chain from its signed head: the last row that is linked without a break, and the first that is not. */
async function lastIntact(
  db: Db,
  writer: string,
  signed: ChainHead | undefined,
  mostRows: number,
  signal: AbortSignal,
): Promise<{ last: ChainHead | undefined; brokenAt?: number; rows: number }> {
  let last: AuditRow | undefined
  let rows = 0
  while (rows < mostRows && !signal.aborted) {
    const before = last ?? signed
    // A chain without a signed head begins below every number, because an inserted row may have one below 1.
    const page = await readAudit(db, writer, before?.seq ?? Number.MIN_SAFE_INTEGER, ROWS_A_PAGE)
    rows += page.length
    const broken = firstBrokenLink(page, before)
    last = (broken ? page[page.indexOf(broken) - 1] : page.at(-1)) ?? last
    if (broken) return { last: headOf(last), brokenAt: broken.seq, rows }
    if (page.length < ROWS_A_PAGE) break
  }
  return { last: headOf(last), rows }
}

function headOf(row: AuditRow | undefined): ChainHead | undefined {
  return row && { writer: row.writer, seq: row.seq, hash: row.hash }
}

/** A head as logs and Events show it, and as `realmkeeper audit verify --expect` takes it. */
export function headText({ writer, seq, hash }: ChainHead): string {
  return `${writer}=${seq}:${hash.toString('hex')}`
}
