import { expect, it } from 'vitest'
import type { Db } from '../../store/db.ts'
import { rotateSessions } from '../../store/sessions/rotation.ts'
import type { Rotated, Rotation, RotationRefused } from '../../store/sessions/rotation.ts'
import { endSessions } from '../../store/sessions/session_ends.ts'
import { endSession, sweepSessions } from '../../store/sessions/sessions.ts'
import { insertSession } from '../support/sessions.ts'
import { newSession } from '../support/rows.ts'
import { describeOnEveryVersion } from './every_version.ts'

const start = new Date('2030-01-01T00:00:00.000Z')
const after = (seconds: number): Date => new Date(start.getTime() + seconds * 1000)

async function rotateSession(db: Db, rotation: Rotation): Promise<Rotated | RotationRefused> {
  const [outcome] = await rotateSessions(db, [rotation])
  if (!outcome) throw new Error('no outcome')
  return outcome
}

describeOnEveryVersion('sessions', (database) => {
  async function session(): Promise<{ rotation: (change?: Partial<Rotation>) => Rotation; sid: string }> {
    const row = newSession(start)
    await insertSession(database().pool, row)
    const rotation = (change: Partial<Rotation> = {}): Rotation => ({
      realm: row.realm,
      sid: row.sid,
      clientId: row.clientId,
      generation: 0,
      now: after(10),
      graceSeconds: 0,
      successorKid: 'kid-2',
      successorIdleExpiresAt: after(1810),
      ...change,
    })
    return { rotation, sid: row.sid }
  }

  it('spends a token and names its successor', async () => {
    const { rotation } = await session()
    expect(await rotateSession(database().pool, rotation())).toEqual({
      outcome: 'rotated',
      generation: 1,
      refreshKid: 'kid-2',
      rotatedAt: after(10),
      idleExpiresAt: after(1810),
      expiresAt: after(36_000),
    })
  })

  it('never lets a successor outlive the session', async () => {
    const { rotation } = await session()
    const rotated = await rotateSession(database().pool, rotation({ successorIdleExpiresAt: after(99_999) }))
    expect(rotated).toMatchObject({ outcome: 'rotated', idleExpiresAt: after(36_000) })
  })

  // Each case follows one rotation at second 10.
  const second: Record<string, { change: Partial<Rotation>; outcome: string; alive: boolean }> = {
    'the successor': { change: { generation: 1 }, outcome: 'rotated', alive: true },
    'the spent one without a grace': { change: {}, outcome: 'reused', alive: false },
    'the spent one within the grace': { change: { now: after(14), graceSeconds: 5 }, outcome: 'repeated', alive: true },
    'the spent one at the end of the grace': {
      change: { now: after(15), graceSeconds: 5 },
      outcome: 'reused',
      alive: false,
    },
    'one of a later generation': { change: { generation: 7 }, outcome: 'absent', alive: true },
    'one of another client': { change: { clientId: 'other' }, outcome: 'absent', alive: true },
    'one of another realm': { change: { realm: 'other' }, outcome: 'absent', alive: true },
    'the successor, when it was idle too long': {
      change: { generation: 1, now: after(1810) },
      outcome: 'expired',
      alive: true,
    },
    'anything after the end of the session': {
      change: { generation: 1, now: after(36_000) },
      outcome: 'expired',
      alive: false,
    },
  }
  for (const [name, { change, outcome, alive }] of Object.entries(second)) {
    it(`answers ${outcome} to ${name}`, async () => {
      const { rotation } = await session()
      await rotateSession(database().pool, rotation())
      expect((await rotateSession(database().pool, rotation(change))).outcome).toBe(outcome)
      const next = await rotateSession(
        database().pool,
        rotation({ generation: outcome === 'rotated' ? 2 : 1, now: after(outcome === 'expired' ? 36_000 : 20) }),
      )
      if (outcome !== 'expired') expect(next.outcome).toBe(alive ? 'rotated' : 'ended')
    })
  }

  it('gives everybody within the grace the same successor, however late it is asked for', async () => {
    const { rotation } = await session()
    const first = await rotateSession(database().pool, rotation())
    const repeated = await rotateSession(
      database().pool,
      rotation({ now: after(12), graceSeconds: 5, successorKid: 'kid-3', successorIdleExpiresAt: after(1900) }),
    )
    expect(repeated).toEqual({ ...first, outcome: 'repeated' })
  })

  it('treats a token two generations old as reuse even within the grace', async () => {
    const { rotation } = await session()
    await rotateSession(database().pool, rotation())
    await rotateSession(database().pool, rotation({ generation: 1, now: after(11) }))
    const old = await rotateSession(database().pool, rotation({ now: after(12), graceSeconds: 60 }))
    expect(old.outcome).toBe('reused')
  })

  it('lets one of fifty racing calls win, and the others end the session', async () => {
    const { rotation } = await session()
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, async () => (await rotateSession(database().pool, rotation())).outcome),
    )
    expect(outcomes.filter((outcome) => outcome === 'rotated')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'reused')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'ended')).toHaveLength(48)
  })

  it('gives fifty racing calls one successor within the grace', async () => {
    const { rotation } = await session()
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => rotateSession(database().pool, rotation({ graceSeconds: 5 }))),
    )
    expect(outcomes.filter(({ outcome }) => outcome === 'rotated')).toHaveLength(1)
    expect(outcomes.filter(({ outcome }) => outcome === 'repeated')).toHaveLength(49)
    expect(new Set(outcomes.map((outcome) => JSON.stringify({ ...outcome, outcome: '' }))).size).toBe(1)
  })

  it('spends tokens of many sessions in one statement, each by its own rules', async () => {
    const { pool } = database()
    const [fresh, used, idle] = [await session(), await session(), await session()]
    await rotateSession(pool, used.rotation())
    const outcomes = await rotateSessions(pool, [
      used.rotation(),
      fresh.rotation(),
      { ...fresh.rotation(), sid: newSession(start).sid },
      idle.rotation({ now: after(1800) }),
    ])
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['reused', 'rotated', 'absent', 'expired'])
    expect(outcomes[1]).toMatchObject({ generation: 1, refreshKid: 'kid-2' })
    expect((await rotateSession(pool, used.rotation({ generation: 1 }))).outcome).toBe('ended')
    expect(await rotateSessions(pool, [])).toEqual([])
  })

  it('never waits in a ring: statements that share sessions in any order all end', async () => {
    const { pool } = database()
    const sessions = await Promise.all(Array.from({ length: 10 }, session))
    const statements = Array.from({ length: 20 }, (_, i) => {
      const rotations = sessions.map(({ rotation }) => rotation())
      return rotateSessions(pool, i % 2 ? rotations : rotations.toReversed())
    })
    const outcomes = (await Promise.all(statements)).flat()
    expect(outcomes.filter(({ outcome }) => outcome === 'rotated')).toHaveLength(10)
    expect(outcomes.filter(({ outcome }) => outcome === 'reused')).toHaveLength(10)
  })

  it('ends a session once, for its own client only', async () => {
    const { rotation, sid } = await session()
    const { pool } = database()
    expect(await endSession(pool, { realm: 'acme', sid, clientId: 'other' }, 'logout', after(1))).toBe(false)
    expect(await endSession(pool, { realm: 'acme', sid, clientId: 'shop' }, 'logout', after(1))).toBe(true)
    expect(await endSession(pool, { realm: 'acme', sid, clientId: 'shop' }, 'logout', after(2))).toBe(false)
    expect((await rotateSession(pool, rotation())).outcome).toBe('ended')
  })

  it('ends the sessions of one subject and leaves the others', async () => {
    const { pool } = database()
    const [mine, mineToo, other] = [newSession(start), newSession(start), newSession(start)]
    for (const row of [mine, { ...mineToo, subject: mine.subject }, other]) await insertSession(pool, row)
    expect(await endSessions(pool, { realm: 'acme', subject: mine.subject }, 'user_removed', after(1))).toEqual({
      ended: 2,
      isComplete: true,
    })
    expect(await endSessions(pool, { realm: 'acme', subject: other.subject }, 'user_removed', after(1))).toEqual({
      ended: 1,
      isComplete: true,
    })
  })

  it('sweeps only what is past its end', async () => {
    const { pool } = database()
    const realm = 'swept'
    await insertSession(pool, newSession(start, { realm, expiresAt: after(5) }))
    await insertSession(pool, newSession(start, { realm, expiresAt: after(50) }))
    await sweepSessions(pool, after(5))
    const { rows } = await pool.query('select 1 from sessions where realm = $1', [realm])
    expect(rows).toHaveLength(1)
  })
})
