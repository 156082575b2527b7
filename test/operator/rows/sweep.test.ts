import { expect, onTestFinished, test } from 'vitest'
import { listIdentitiesOf } from '../../../operator/rows/list_identities.ts'
import { createRows } from '../../../operator/rows/rows.ts'
import { storeAccess } from '../../../operator/rows/store_access.ts'
import { sweepRows } from '../../../operator/rows/sweep.ts'
import type { SweepDeps } from '../../../operator/rows/sweep.ts'
import { createLog } from '../../../process/log.ts'
import { inTransaction } from '../../../store/db.ts'
import { takeEpoch } from '../../../store/operator/epoch.ts'
import { upsertRealm } from '../../../store/realms.ts'
import { replaceGrantedRoles, upsertRoleAssignment } from '../../../store/role_assignments.ts'
import { upsertUser } from '../../../store/users.ts'
import { testDatabase } from '../../support/postgres.ts'
import { realmRow, userRow } from '../../support/rows.ts'

test.each(['read', 'write'])('a grant that is written just before the first %s of a sweep stays', async (moment) => {
  const database = await testDatabase()
  onTestFinished(() => database.drop())
  const { pool } = database
  await inTransaction(pool, (db) => upsertRealm(db, realmRow({ realm: 'shop' })))
  const present: { metadata: { uid: string } }[] = []
  let isWritten = false
  async function writeGrant(): Promise<void> {
    if (isWritten) return
    isWritten = true
    present.push({ metadata: { uid: 'new' } })
    const row = { realm: 'shop', resourceUid: 'new', namespace: 'shop', name: 'new', generation: 1, granted: null }
    const subject = { kind: 'User', subject: 'alice' } as const
    await inTransaction(pool, async (db) => {
      await upsertRoleAssignment(db, row)
      await replaceGrantedRoles(db, 'shop', 'new', subject, [{ role: 'reader', expiresAt: null }])
    })
  }

  // So that there is something to delete.
  const stray = { kind: 'User', subject: 'bob' } as const
  await replaceGrantedRoles(pool, 'shop', 'stray', stray, [{ role: 'reader', expiresAt: null }])

  const epoch = await takeEpoch(pool, 'test')
  const store = storeAccess({ pool, epoch, now: () => new Date(), auditWriter: 'operator/test' })
  const slow: SweepDeps['store'] = {
    ...store,
    db: {
      async query(text: string, values?: unknown[]) {
        if (moment === 'read') await writeGrant()
        return store.db.query(text, values)
      },
    },
    async transaction(work) {
      if (moment === 'write') await writeGrant()
      return store.transaction(work)
    },
  }
  const source = {
    completeList: (kind: string) => (kind === 'RoleAssignment' ? { identity: 'one' } : undefined),
    list: () => present,
  }
  const identities = { load: async () => {}, areSame: () => true, mayRemove: () => true, record: async () => {} }
  const outside = { report: () => {}, reportWaiting: async () => {} }
  const drifts: string[] = []
  const reportDrift = (row: string): void => void drifts.push(row)
  const log = createLog({ name: 'test', level: 'error' })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members that a sweep of assignments uses
  const deps = { source, store: slow, rows: {}, identities, outside, log, reportDrift } as unknown as SweepDeps
  expect(await sweepRows(deps)).toEqual(['Realm', 'Client', 'User'])

  expect(isWritten).toBe(true)
  const { rows } = await pool.query('select role, assignment_uid as uid from granted_roles')
  expect(rows).toEqual([{ role: 'reader', uid: 'new' }])
  expect(drifts).toEqual(['granted roles of uid stray: no RoleAssignment has this uid'])
})

test('rows of namespaces that are not watched do not keep a re-created kind from being known again', async () => {
  const database = await testDatabase()
  onTestFinished(() => database.drop())
  const { pool } = database
  await upsertUser(pool, userRow({ realm: 'shop', namespace: 'elsewhere' }))
  const epoch = await takeEpoch(pool, 'test')
  const store = storeAccess({ pool, epoch, now: () => new Date(), auditWriter: 'operator/test' })
  const rows = createRows()
  await rows.load(store.db)
  let identity = 'former'
  const source = { completeList: () => ({ identity }), list: () => [], scope: ['watched'] }
  const identities = listIdentitiesOf({ source, store, acceptEmpty: [] })
  await identities.load()
  identity = 'present'
  expect(identities.mayRemove('User', 'watched')).toBe(false)

  const stay: unknown[] = []
  const outside = {
    report: (kind: string, reported: readonly object[]) => void (kind === 'User' && stay.push(...reported)),
    reportWaiting: async () => {},
  }
  const log = createLog({ name: 'test', level: 'error' })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members that a sweep uses
  await sweepRows({ source, store, rows, identities, outside, log, reportDrift: () => {} } as unknown as SweepDeps)
  expect(stay).toEqual([expect.objectContaining({ namespace: 'elsewhere' })])
  expect(identities.mayRemove('User', 'watched')).toBe(true)
})
