import { expect, it } from 'vitest'
import { noteChange, readChanges, sweepChanges } from '../../store/changes.ts'
import { inTransaction } from '../../store/db.ts'
import { describeOnEveryVersion } from './every_version.ts'

const now = new Date('2030-01-01T00:00:00Z')

describeOnEveryVersion('the change log', (database) => {
  it('hands out what came after a number, in order', async () => {
    const { pool } = database()
    const { lastId } = await readChanges(pool, 0)
    await noteChange(pool, { realm: 'acme', kind: 'realm', key: 'acme' }, now)
    await noteChange(pool, { realm: 'acme', kind: 'client', key: 'shop' }, now)
    const read = await readChanges(pool, lastId)
    expect(read).toMatchObject({ lastId: lastId + 2, complete: true })
    expect(read.changes.map(({ key }) => key)).toEqual(['acme', 'shop'])
    expect(await readChanges(pool, read.lastId)).toEqual({ lastId: read.lastId, complete: true, changes: [] })
  })

  it('never shows a number while a smaller one may still appear', async () => {
    const { pool } = database()
    const { lastId } = await readChanges(pool, 0)
    const noted: Promise<void>[] = []
    await inTransaction(pool, async (db) => {
      await noteChange(db, { realm: 'acme', kind: 'realm', key: 'slow' }, now)
      // Begins while the first is not committed, and has to wait for it.
      noted.push(noteChange(pool, { realm: 'acme', kind: 'realm', key: 'quick' }, now))
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect((await readChanges(pool, lastId)).changes).toEqual([])
    })
    await Promise.all(noted)
    const { changes } = await readChanges(pool, lastId)
    expect(changes.map(({ key }) => key)).toEqual(['slow', 'quick'])
  })

  it('loses nothing under fifty writers and a reader that follows', async () => {
    const { pool } = database()
    let since = (await readChanges(pool, 0)).lastId
    const seen: string[] = []
    const read = async (): Promise<void> => {
      const { lastId, complete, changes } = await readChanges(pool, since)
      expect(complete).toBe(true)
      since = lastId
      seen.push(...changes.map(({ key }) => key))
    }
    const writers = Array.from({ length: 50 }, (_, i) =>
      noteChange(pool, { realm: 'acme', kind: 'client', key: String(i) }, now),
    )
    for (let round = 0; round < 20; round++) await read()
    await Promise.all(writers)
    await read()
    expect(seen.toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 50 }, (_, i) => String(i)))
  })

  it('says so when older entries are swept', async () => {
    const { pool } = database()
    const { lastId } = await readChanges(pool, 0)
    await noteChange(pool, { realm: 'acme', kind: 'realm', key: 'acme' }, now)
    await sweepChanges(pool, new Date(now.getTime() + 3_601_000))
    expect(await readChanges(pool, lastId)).toMatchObject({ complete: false })
    expect(await readChanges(pool, lastId + 1)).toMatchObject({ complete: true })
  })

  it('says so when the database is another one than before', async () => {
    expect(await readChanges(database().pool, 1_000_000)).toMatchObject({ complete: false })
  })
})
