import { expect, it } from 'vitest'
import { clearLoginFailures, countLoginAttempts, sweepLoginFailures } from '../../store/sessions/login_failures.ts'
import { usernameDigest } from '../../store/username.ts'
import { realmRow } from '../support/rows.ts'
import { describeOnEveryVersion } from './every_version.ts'

const settings = {
  enabled: true,
  maxFailures: 3,
  waitIncrementSeconds: 60,
  maxWaitSeconds: 100,
  failureResetSeconds: 1_000,
}
const start = new Date('2030-01-01T00:00:00.000Z')
const after = (seconds: number): Date => new Date(start.getTime() + seconds * 1000)

describeOnEveryVersion('login failures', (database) => {
  const attempts = (names: string[], seconds: number, realm = 'acme'): Promise<boolean[]> =>
    countLoginAttempts(
      database().pool,
      names.map((name) => ({ realm, digest: usernameDigest(name), settings, now: after(seconds) })),
    )
  const attempt = async (name: string, seconds: number, realm = 'acme'): Promise<boolean | undefined> =>
    (await attempts([name], seconds, realm))[0]

  it('locks at every third failure, for longer each time, never beyond the cap', async () => {
    const steps: [number, boolean][] = [
      [0, false],
      [1, false],
      [2, false], // the third: locked until 62
      [3, true],
      [61.9, true],
      [62, false], // the fourth still waits 60: locked until 122
      [100, true],
      [122, false],
      [182, false], // the sixth: 120, capped to 100: locked until 282
      [281.9, true],
      [282, false],
    ]
    for (const [seconds, locked] of steps) {
      expect([seconds, await attempt('steps', seconds)]).toEqual([seconds, locked])
    }
  })

  it('counts the spellings of a name as one, and realms apart', async () => {
    for (const name of ['Ａlice', 'ALICE', ' alice ']) expect(await attempt(name, 0)).toBe(false)
    expect(await attempt('alice', 1)).toBe(true)
    expect(await attempt('alice', 1, 'other')).toBe(false)
  })

  it('counts many names in one statement, each by itself', async () => {
    for (const second of [0, 1, 2]) expect(await attempts(['zoe', 'yan'], second)).toEqual([false, false])
    await clearLoginFailures(database().pool, 'acme', 'yan')
    expect(await attempts(['xia', 'yan', 'zoe'], 3)).toEqual([false, false, true])
  })

  it('does not deadlock when statements name the same names in other orders', async () => {
    const names = Array.from({ length: 50 }, (_, at) => `crowd-${at}`)
    const racing = Array.from({ length: 10 }, (_, at) => attempts(at % 2 === 0 ? names : names.toReversed(), 0))
    const results = await Promise.all(racing)
    expect(results.flat().filter((locked) => !locked)).toHaveLength(3 * names.length)
  })

  it('forgets after a success', async () => {
    for (const second of [0, 1, 2]) await attempt('bob', second)
    await clearLoginFailures(database().pool, 'acme', 'BOB')
    expect(await attempt('bob', 3)).toBe(false)
  })

  it('starts again once the reset time has passed', async () => {
    for (const second of [0, 1]) await attempt('carol', second)
    expect(await attempt('carol', 1_001)).toBe(false)
    expect(await attempt('carol', 1_002)).toBe(false)
    expect(await attempt('carol', 1_003)).toBe(false)
    expect(await attempt('carol', 1_004)).toBe(true)
  })

  it('counts racing attempts one by one', async () => {
    const locked = await Promise.all(Array.from({ length: 20 }, () => attempt('dave', 0)))
    expect(locked.filter((isLocked) => !isLocked)).toHaveLength(3)
  })

  it('is not locked by an attempt whose clock was a little ahead', async () => {
    expect(await attempt('erin', 0.5)).toBe(false)
    expect(await attempt('erin', 0.4)).toBe(false)
  })

  it('keeps no name in clear', async () => {
    await attempt('hunter2-typed-into-the-wrong-field', 0)
    const { rows } = await database().pool.query<{ line: string }>(
      'select login_failures::text as line from login_failures',
    )
    expect(rows.map(({ line }) => line).join()).not.toContain('hunter2')
  })

  it('sweeps counters whose reset time has passed', async () => {
    const { pool } = database()
    await attempt('old', 0, realmRow().realm)
    expect(await sweepLoginFailures(pool, after(10))).toBe(0)
    expect(await sweepLoginFailures(pool, after(43_200 + 2_000))).toBeGreaterThan(0)
  })
})
