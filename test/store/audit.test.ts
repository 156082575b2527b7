import { expect, it } from 'vitest'
import { firstBrokenLink, readAudit, recordAudit } from '../../store/audit.ts'
import type { AuditEntry } from '../../store/audit.ts'
import { writersOf } from '../support/audit.ts'
import { describeOnEveryVersion } from './every_version.ts'

const entry = (approver: string): AuditEntry => ({
  at: new Date('2030-01-01T00:00:00.123Z'),
  action: 'assignment_decided',
  realm: 'acme',
  details: { approver, roles: ['a', 'b'] },
})

describeOnEveryVersion('the audit log', (database) => {
  it('chains each row to the one before it, for each writer apart', async () => {
    const { pool } = database()
    await recordAudit(pool, 'operator', [entry('carol'), entry('dave')])
    await recordAudit(pool, 'server-1', [entry('erin')])
    await recordAudit(pool, 'operator', [entry('frank')])
    const rows = await readAudit(pool, 'operator')
    expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3])
    expect(firstBrokenLink(rows)).toBeUndefined()
    expect(firstBrokenLink(rows.slice(1), rows[0])).toBeUndefined()
    expect(await writersOf(pool)).toEqual(['operator', 'server-1'])
  })

  it('keeps one chain under racing appends', async () => {
    const { pool } = database()
    await Promise.all(Array.from({ length: 20 }, (_, i) => recordAudit(pool, 'racing', [entry(`${i}`), entry(`${i}`)])))
    const rows = await readAudit(pool, 'racing')
    expect(rows).toHaveLength(40)
    expect(firstBrokenLink(rows)).toBeUndefined()
  })

  it('lists writers beyond one page, each once, and those without a signed head', async () => {
    const { pool } = database()
    await pool.query(
      `insert into audit (writer, seq, at, action, realm, details, previous_hash, hash)
       select 'many/' || w, s, now(), 'x', '', '{}', '', '' from generate_series(1, 2500) w, generate_series(1, 2) s`,
    )
    await pool.query(
      `insert into audit_heads select w, 'many/' || w, 2, '', now() from generate_series(1, 2500) w where w % 2 = 0`,
    )
    const isOneOfMany = (writer: string): boolean => writer.startsWith('many/')
    const all = (await writersOf(pool)).filter(isOneOfMany)
    expect(all).toHaveLength(2_500)
    expect(new Set(all).size).toBe(2_500)
    const unsigned = (await writersOf(pool, 'unsigned')).filter(isOneOfMany)
    expect(unsigned).toHaveLength(1_250)
    expect(unsigned.every((writer) => Number(writer.slice(5)) % 2 === 1)).toBe(true)
  })

  it('cannot be changed, deleted or truncated', async () => {
    const { pool } = database()
    await recordAudit(pool, 'kept', [entry('carol')])
    for (const statement of [`update audit set details = '{}'`, 'delete from audit', 'truncate audit']) {
      await expect(pool.query(statement)).rejects.toThrow('append-only')
    }
  })

  it('shows where a row was changed, dropped or inserted past the trigger', async () => {
    const { pool } = database()
    await recordAudit(pool, 'forged', ['a', 'b', 'c', 'd'].map(entry))
    const rows = await readAudit(pool, 'forged')
    const [a, b, c, d] = rows as [(typeof rows)[0], (typeof rows)[0], (typeof rows)[0], (typeof rows)[0]]
    expect(firstBrokenLink([a, { ...b, details: '{}' }, c, d])).toMatchObject({ seq: 2 })
    expect(firstBrokenLink([a, { ...b, at: new Date(0) }, c, d])).toMatchObject({ seq: 2 })
    expect(firstBrokenLink([a, c, d])).toMatchObject({ seq: 3 })
    expect(firstBrokenLink([b, c, d])).toMatchObject({ seq: 2 })
    expect(firstBrokenLink([a, b, { ...c, previousHash: a.hash }, d])).toMatchObject({ seq: 3 })
  })
})
