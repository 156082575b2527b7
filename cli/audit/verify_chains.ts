import { firstBrokenLink, listAuditWriters, readAudit } from '../../store/audit.ts'
import type { AuditRow } from '../../store/audit.ts'
import type { Db } from '../../store/db.ts'

export interface ChainCheck {
  writer: string
  /** Rows that follow from each other, from the first on. */
  rows: number
  /** Hash of the last of them, hex: kept elsewhere, it shows later whether the end was cut off. */
  head: string | undefined
  /** `seq` of the first row that does not follow from the one before it. */
  brokenAt?: number
}

/** Walks the chain of every writer until it breaks or ends. Rows that are written meanwhile belong to it. */
export async function verifyChains(db: Db): Promise<ChainCheck[]> {
  const checks: ChainCheck[] = []
  for (const writer of await listAuditWriters(db)) checks.push(await verifyChain(db, writer))
  return checks
}

async function verifyChain(db: Db, writer: string): Promise<ChainCheck> {
  let last: AuditRow | undefined
  let rows = 0
  for (;;) {
    // From below the first row there can be: one with a number that was never given is a break as well.
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
