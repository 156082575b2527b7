import { beforeEach, describe, expect, test } from 'vitest'
import { parseSince } from '../../../cli/commands/audit.ts'
import { recordAudit } from '../../../store/audit.ts'
import type { AuditAction, AuditEntry } from '../../../store/audit.ts'
import { realmkeeper } from '../../support/command.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

let database: TestDatabase

beforeEach(async () => {
  database = await testDatabase()
  return () => database.drop()
})

function entry(action: AuditAction, day: number, details: AuditEntry['details'] = {}, realm = 'acme'): AuditEntry {
  const about = {
    uid: 'uid-1',
    generation: 1,
    namespace: 'apps',
    name: 'alice',
    subjectKind: 'User',
    subjectName: 'alice',
  }
  return { at: new Date(Date.UTC(2026, 0, day)), action, realm, details: { ...about, ...details } }
}

async function audit(...args: string[]): Promise<{ code: number | null; lines: string[]; stderr: string }> {
  const { code, stdout, stderr } = await realmkeeper(['audit', ...args], {
    env: { REALMKEEPER_DATABASE_URL: database.url },
  })
  return { code, lines: stdout.trimEnd().split('\n'), stderr }
}

async function recordExamples(): Promise<void> {
  await recordAudit(database.pool, 'operator/a', [
    entry('assignment_requested', 1, { requestedBy: 'carol', roles: ['reader', 'editor'], durationSeconds: null }),
    entry('assignment_decided', 2, { approver: 'ann', decision: 'Approved', counted: true }),
  ])
  await recordAudit(database.pool, 'server/b', [
    { at: new Date(Date.UTC(2026, 0, 3)), action: 'session_ended', realm: 'acme', details: { session: '1' } },
  ])
  await recordAudit(database.pool, 'operator/c', [
    entry('roles_granted', 3, { roles: ['reader'] }),
    entry('roles_revoked', 4, { uid: 'uid-2', name: 'bob', roles: ['reader'], cause: 'Deleted' }, 'other'),
    {
      at: new Date(Date.UTC(2026, 0, 5)),
      action: 'roles_revoked',
      realm: 'acme',
      details: { assignment: 'apps/alice', assignmentUid: 'uid-1', cause: 'resource_gone' },
    },
  ])
}

describe('realmkeeper audit', () => {
  test('lists the history of assignments, the oldest first, of all writers', async () => {
    await recordExamples()
    const { code, lines } = await audit()
    expect(code).toBe(0)
    expect(lines).toEqual([
      expect.stringMatching(
        /^2026-01-01T00:00:00.000Z +requested +acme +apps\/alice .*requestedBy=carol roles=reader,editor$/,
      ),
      expect.stringMatching(/decided .*approver=ann decision=Approved counted=true$/),
      expect.stringMatching(/granted .*roles=reader$/),
      expect.stringMatching(/revoked +other +apps\/bob .*cause=Deleted$/),
      expect.stringMatching(/revoked +acme +apps\/alice +cause=resource_gone$/),
    ])
  })

  test.for<[string[], number]>([
    [['--realm', 'other'], 1],
    [['--since', '2026-01-03'], 3],
    [['--since', '2026-01-03T00:00:01Z'], 2],
    [['--assignment', 'alice'], 4],
    [['--assignment', 'apps/bob'], 1],
    [['--assignment', 'uid-2'], 1],
    [['--assignment', 'lice'], 0],
    [['--all'], 6],
    [['--all', '--realm', 'acme', '--since', '2026-01-03'], 3],
  ])('%j selects %d entries', async ([args, count]) => {
    await recordExamples()
    const { lines } = await audit(...args, '--output', 'json')
    expect(lines.filter(Boolean).map((line) => JSON.parse(line))).toHaveLength(count)
  })

  test('json is one object per line, with its position in the chain', async () => {
    await recordExamples()
    const { lines } = await audit('-o', 'json', '--assignment', 'bob')
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        at: '2026-01-04T00:00:00.000Z',
        action: 'roles_revoked',
        realm: 'other',
        assignment: 'apps/bob',
        details: expect.objectContaining({ uid: 'uid-2', roles: ['reader'] }),
        writer: 'operator/c',
        seq: 2,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ])
  })

  test('more than one page is complete, also when many entries have the same time', async () => {
    const many = Array.from({ length: 2_500 }, (_, index) => entry('roles_granted', 1, { roles: [`role-${index}`] }))
    await recordAudit(database.pool, 'operator/a', many)
    const { lines } = await audit('-o', 'json')
    expect(new Set(lines.map((line) => JSON.parse(line).seq)).size).toBe(2_500)
  })

  test('row 127: names cannot add lines to the output', async () => {
    await recordAudit(database.pool, 'operator/a', [
      entry('assignment_requested', 1, { requestedBy: 'carol\n2026-01-01T00:00:00Z  granted\u001B[31m' }),
    ])
    const { lines } = await audit()
    expect(lines).toHaveLength(1)
    // oxlint-disable-next-line no-control-regex -- these must not be there
    expect(lines[0]).not.toMatch(/[\u0000-\u001f]/)
  })

  test('an empty result is reported', async () => {
    expect(await audit()).toMatchObject({ code: 0, lines: ['no audit entry matches'] })
  })

  test('without a database the error names the flags', async () => {
    const { code, stderr } = await realmkeeper(['audit'])
    expect(code).toBe(1)
    expect(stderr).toContain('no database is given: give --database-url')
    expect((await realmkeeper(['audit', '--since', 'yesterday'])).stderr).toContain('as 24h or 7d')
  })
})

test('--since takes a duration or a time', () => {
  const now = new Date('2026-01-31T12:00:00Z')
  expect(parseSince('24h', now).toISOString()).toBe('2026-01-30T12:00:00.000Z')
  expect(parseSince('7d', now).toISOString()).toBe('2026-01-24T12:00:00.000Z')
  expect(parseSince('2026-01-31T14:00:00+02:00', now)).toEqual(now)
  for (const wrong of ['', '7', '7w', '2026-01-31T12:00:00', '2026-13-01', 'yesterday']) {
    expect(() => parseSince(wrong, now), wrong).toThrow('as 24h or 7d')
  }
})
