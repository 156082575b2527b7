import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AUDIT_SECRET } from '../../../operator/audit/audit_secret.ts'
import { readClaimedState } from '../../../operator/audit/signature.ts'
import { findAuditSignature } from '../../../store/operator/audit_heads.ts'
import { asOwner, rewriteChain } from '../../support/audit.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fake_clock.ts'
import { NAMESPACE, signingWorld } from './signing_world.ts'
import type { SigningWorld } from './signing_world.ts'

describe('the operator signs audit chains', () => {
  let world: SigningWorld
  beforeEach(async () => {
    world = await signingWorld()
  })
  afterEach(() => world.end())

  const errors = (): string[] => world.log.filter(({ level }) => level === 'error').map(({ msg }) => msg)
  const number = async (): Promise<number | undefined> =>
    readClaimedState((await findAuditSignature(world.database.pool)) ?? '')?.number

  test('signs what is new, publishes each head, and nothing when nothing is new', async () => {
    await world.append('operator/a', 3)
    await world.append('server/b', 1)
    const signing = await world.start()
    await world.sign(signing)
    expect(world.published()).toEqual({
      'operator/a': expect.stringMatching(/^operator\/a=3:[0-9a-f]{64}$/),
      'server/b': expect.stringMatching(/^server\/b=1:[0-9a-f]{64}$/),
    })
    expect(world.events).toEqual([expect.objectContaining({ type: 'Normal', reason: 'AuditSigned' })])
    expect(world.events[0]?.message).toContain(world.published()['server/b'])
    await world.sign(signing)
    expect(await number()).toBe(1)

    await world.append('server/b', 2)
    await world.sign(signing)
    expect(await number()).toBe(2)
    expect(world.log.at(-1)?.heads).toEqual([expect.stringMatching(/^server\/b=3:/)])
    expect(world.events).toHaveLength(1)
    // Another process continues.
    await world.append('server/c', 1)
    await world.sign()
    expect(await number()).toBe(3)
    expect(errors()).toEqual([])
    expect(world.broken.every((count) => count === 0)).toBe(true)
  })

  test('signs every minute until the term ends, also after a failure', async () => {
    const clock = fakeClock()
    const signing = await world.start(undefined, clock)
    const term = new AbortController()
    const running = signing.run(term.signal)
    await world.append('server/a', 1)
    await clock.pass(59_000)
    expect(world.log).toEqual([])
    await clock.pass(1_000)
    await eventually(async () => expect(world.published()['server/a']).toMatch(/=1:/))

    await world.database.pool.query('alter table audit_heads rename to elsewhere')
    await clock.pass(60_000)
    await eventually(async () => expect(world.log.at(-1)).toMatchObject({ level: 'warn' }))
    await world.database.pool.query('alter table elsewhere rename to audit_heads')
    await world.append('server/a', 1)
    await clock.pass(60_000)
    await eventually(async () => expect(world.published()['server/a']).toMatch(/=2:/))
    term.abort()
    await running
  })

  test('chains of thousands of rows and more writers than one check takes are all signed', async () => {
    await world.append('operator/long', 2_500)
    await world.database.pool.query(
      `insert into audit (writer, seq, at, action, realm, details, previous_hash, hash)
       select 'server/' || n, 1, now(), 'x', '', '{}', '\\x00', '\\x00' from generate_series(1, 20) n`,
    )
    await world.append('server/good', 120)
    const signing = await world.start()
    expect(await world.sign(signing)).toMatchObject({ hasMore: false })
    expect(world.published()['operator/long']).toMatch(/=2500:/)
    expect(world.published()['server/good']).toMatch(/=120:/)
    expect(world.broken).toEqual([20])
  })

  test.for<[string, (world: SigningWorld) => Promise<unknown>, RegExp]>([
    [
      'rewritten with all its hashes',
      ({ database }) => rewriteChain(database.pool, 'operator/a', 2, '{"forged":true}'),
      /row 5 of operator\/a is not the one that was signed/,
    ],
    [
      'cut at its end',
      ({ database }) => asOwner(database.pool, `delete from audit where writer = 'operator/a' and seq > 2`),
      /row 5 of operator\/a, which was signed, is gone/,
    ],
    [
      'removed',
      ({ database }) => asOwner(database.pool, `delete from audit where writer = 'operator/a'`),
      /row 5 of operator\/a, which was signed, is gone/,
    ],
    [
      'continued with a forged row',
      ({ database }) =>
        database.pool.query(
          `insert into audit select writer, 6, at, action, realm, details, previous_hash, hash
             from audit where writer = 'operator/a' and seq = 5`,
        ),
      /row 6 of operator\/a does not continue the signed row 5/,
    ],
    [
      'continued with a row at no time',
      ({ database }) =>
        database.pool.query(
          `insert into audit select writer, 6, 'infinity', action, realm, details, hash, hash
             from audit where writer = 'operator/a' and seq = 5`,
        ),
      /row 6 of operator\/a does not continue the signed row 5/,
    ],
  ])(
    'row 136: a chain that was %s is reported at each check, and others are still signed',
    async ([, tamper, text]) => {
      await world.append('operator/a', 5)
      await world.append('server/b', 1)
      await world.sign()
      await tamper(world)
      await world.append('server/b', 1)
      const signing = await world.start()
      await world.sign(signing)
      await world.sign(signing)
      expect(errors()).toEqual([expect.stringMatching(text), expect.stringMatching(text)])
      expect(world.broken.slice(-2)).toEqual([1, 1])
      expect(world.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'AuditBroken' }))
      expect(world.published()['operator/a']).toMatch(/=5:/)
      expect(world.published()['server/b']).toMatch(/=2:/)

      // The owner accepts it; what follows is signed again.
      const name = world.breakName()
      const accepting = await world.start(name)
      await world.sign(accepting)
      await world.append('server/b', 1)
      await world.sign(accepting)
      expect(errors()).toHaveLength(2)
      expect(world.broken.at(-1)).toBe(0)
      const { rows } = await world.database.pool.query(
        `select details from audit where action = 'audit_break_accepted'`,
      )
      expect(rows).toEqual([{ details: expect.stringContaining(name) }])
      // The same name accepts no other break.
      await asOwner(world.database.pool, `delete from audit where writer = 'server/b' and seq > 1`)
      await world.sign(accepting)
      expect(errors().at(-1)).toMatch(/row 3 of server\/b, which was signed, is gone/)
    },
  )

  test.for<[string, (world: SigningWorld, before: Record<string, unknown[]>) => Promise<unknown>]>([
    [
      'chains and heads are cut to an earlier signed state',
      async ({ database: { pool } }, before) => {
        await asOwner(pool, 'delete from audit where seq > 2', 'delete from audit_heads')
        await pool.query('insert into audit_heads select * from jsonb_populate_recordset(null::audit_heads, $1)', [
          JSON.stringify(before['heads']),
        ])
        await pool.query('update audit_signature set jws = $1', before['jws'])
      },
    ],
    [
      'everything is deleted',
      ({ database: { pool } }) =>
        asOwner(pool, 'delete from audit', 'delete from audit_heads', 'delete from audit_signature'),
    ],
    [
      'a chain is removed with its head',
      ({ database: { pool } }) =>
        asOwner(
          pool,
          `delete from audit where writer = 'server/b'`,
          `delete from audit_heads where writer = 'server/b'`,
        ),
    ],
    [
      'the head of a chain is that of another',
      ({ database: { pool } }) =>
        asOwner(
          pool,
          `update audit_heads set hash = (select hash from audit_heads where writer = 'operator/a') where writer = 'server/b'`,
        ),
    ],
    ['the signature is forged', ({ database: { pool } }) => asOwner(pool, `update audit_signature set jws = 'a.b.c'`)],
    [
      'the database is that of another installation',
      async ({ database: { pool } }) => {
        const other = await signingWorld()
        await other.append('operator/a', 9)
        for (let n = 0; n < 5; n++) {
          await other.append('operator/a', 1)
          await other.sign()
        }
        await asOwner(pool, 'delete from audit', 'delete from audit_heads')
        for (const table of ['audit', 'audit_heads']) {
          const { rows } = await other.database.pool.query(`select to_jsonb(t) as row from ${table} t`)
          await pool.query(`insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1)`, [
            JSON.stringify(rows.map(({ row }) => row)),
          ])
        }
        await pool.query('update audit_signature set jws = $1', [await findAuditSignature(other.database.pool)])
        await other.end()
      },
    ],
  ])('row 136: nothing is signed when %s, until the owner accepts it', async ([, tamper]) => {
    const { pool } = world.database
    await world.append('operator/a', 2)
    await world.append('server/b', 2)
    await world.sign()
    const { rows: heads } = await pool.query('select to_jsonb(h) as row from audit_heads h')
    const before = { heads: heads.map(({ row }) => row), jws: [await findAuditSignature(pool)] }
    await world.append('operator/a', 3)
    await world.sign()
    const published = world.log.length

    await tamper(world, before)
    await world.append('server/new', 1)
    await world.sign()
    await world.sign()
    expect(errors()).toEqual([
      expect.stringContaining('no chain is signed'),
      expect.stringContaining('no chain is signed'),
    ])
    expect(world.broken.at(-1)).toBe(1)
    expect(world.log.slice(published).flatMap(({ heads = [] }) => heads)).toEqual([])

    await world.sign(await world.start(world.breakName()))
    await world.sign()
    expect(errors()).toHaveLength(2)
    expect(world.published()['server/new']).toMatch(/=1:/)
    expect(await number()).toBeGreaterThan(2)
    expect(world.broken.at(-1)).toBe(0)
  })

  test('a process that ended between its commit and the write of the Secret is continued', async () => {
    await world.append('operator/a', 1)
    await world.sign()
    await world.append('operator/a', 1)
    const at = { namespace: NAMESPACE, name: AUDIT_SECRET }
    const before = await world.secrets.read(at)
    await world.sign()
    const after = await world.secrets.read(at)
    await world.secrets.update({ ...at, labels: before!.labels, data: before!.data }, after!.version)
    await world.sign()
    expect((await world.secrets.read(at))?.data['signed']).toEqual(after!.data['signed'])
    expect(world.log.at(-1)).toMatchObject({ signature: 2, heads: [] })

    await world.secrets.update(
      { ...at, labels: before!.labels, data: before!.data },
      (await world.secrets.read(at))!.version,
    )
    await world.append('operator/a', 1)
    await world.sign()
    expect(errors()).toEqual([])
    expect(await number()).toBe(3)
    expect(world.published()['operator/a']).toMatch(/=3:/)
  })

  test('a key that is damaged or was lost signs nothing over what another key signed', async () => {
    await world.append('operator/a', 1)
    await world.sign()
    const at = { namespace: NAMESPACE, name: AUDIT_SECRET }
    const secret = await world.secrets.read(at)
    const damaged = { ...secret!.data, 'private.json': Buffer.from('{"kty":"OKP"}') }
    await world.secrets.update({ ...at, labels: secret!.labels, data: damaged }, secret!.version)
    await expect(world.sign()).rejects.toThrow('the entry "private.json" is no private Ed25519 key')
    await world.secrets.delete(at)
    await world.sign()
    expect(errors()).toEqual([expect.stringContaining('a signature that this key did not make')])
    expect(await number()).toBe(1)
  })
})
