import { firstBrokenLink, listAuditWriters, readAudit } from '../../store/audit.ts'
import type { AuditRow } from '../../store/audit.ts'
import type { Db } from '../../store/db.ts'

export interface ChainCheck {
  writer: string
  /** Number of intact rows at the beginning of the chain. */
  rows: number
  /** Hash of the last of them, hex. A copy kept elsewhere shows later whether the end was cut off. */
  head: string | undefined
  /** `seq` of the first row that does not continue the chain. */
  brokenAt?: number
}

/** Checks the chain of every writer up to its first break. Rows that are written in the meantime are included. */
export async function verifyChains(db: Db): Promise<ChainCheck[]> {
  const checks: ChainCheck[] = []
  for (const writer of await listAuditWriters(db)) checks.push(await verifyChain(db, writer))
  return checks
}

async function verifyChain(db: Db, writer: string): Promise<ChainCheck> {
  let last: AuditRow | undefined
  let rows = 0
  for (;;) {
    // Begins below every number, because an inserted row may have one below 1.
    const page = await readAudit(db, writer, last?.seq ?? Number.MIN_SAFE_INTEGER)
    const broken = firstBrokenLink(page, last)
    rows += broken ? page.indexOf(broken) : page.length
    if (broken) {
      const before = page[page.indexOf(broken) - 1] ?? last
      return { writer, rows, head: before?.hash.toString('hex'), brokenAt: broken.seq }
    }
    if (page.length === 0) return { writer, rows, head: last?.hash.toString('hex') }
    last = page.at(-1)
  }
}
