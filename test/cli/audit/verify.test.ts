import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findAuditSignature } from '../../../store/operator/audit_heads.ts'
import { asOwner, rewriteChain } from '../../support/audit.ts'
import { realmkeeper } from '../../support/command.ts'
import { signingWorld } from '../../operator/audit/signing_world.ts'
import type { SigningWorld } from '../../operator/audit/signing_world.ts'

interface Verified {
  code: number | null
  lines: string[]
  stderr: string
}

let world: SigningWorld
let key: string

/** Three rows of operator/a and two of server/b are signed; one more of server/b is not. */
beforeEach(async () => {
  world = await signingWorld()
  await world.append('operator/a', 3)
  await world.append('server/b', 2)
  await world.sign()
  await world.append('server/b', 1)
  key = await world.publicKey()
})
afterEach(() => world.end())

async function verify(...args: string[]): Promise<Verified> {
  const env = { REALMKEEPER_DATABASE_URL: world.database.url }
  const { code, stdout, stderr } = await realmkeeper(['audit', 'verify', ...args], { env })
  return { code, lines: stdout.trimEnd().split('\n').filter(Boolean), stderr }
}

function expectHead(writer: string): string[] {
  return ['--expect', world.published()[writer] ?? 'none']
}

describe('realmkeeper audit verify', () => {
  test('without a key it claims that chains are consistent, and no more', async () => {
    await world.append('operator/a', 1_500)
    const { code, lines } = await verify()
    expect(code).toBe(0)
    expect(lines).toEqual([
      expect.stringMatching(/^ok {6}operator\/a: rows 1 to 1503 are linked without a break, up to 1503:[0-9a-f]{64}$/),
      expect.stringMatching(/^ok {6}server\/b: rows 1 to 3 are linked/),
      expect.stringContaining('consistent in themselves, and no more'),
    ])
    expect(lines.join()).not.toContain('signed up to')
  })

  test('row 136: a rewritten chain passes without the key, and the text says so', async () => {
    await rewriteChain(world.database.pool, 'operator/a', 1, '{"forged":true}')
    const { code, lines } = await verify()
    expect(code).toBe(0)
    expect(lines.at(-1)).toContain('write or cut them so that they are')
  })

  test('with the key it names what is signed and what is not', async () => {
    const { code, lines } = await verify('--audit-key', key)
    expect(code).toBe(0)
    expect(lines).toEqual([
      expect.stringMatching(/^ok {6}operator\/a: rows 1 to 3/),
      expect.stringMatching(/^ {10}signed up to row 3 at 20\S+Z$/),
      expect.stringMatching(/^ok {6}server\/b: rows 1 to 3/),
      expect.stringMatching(/^ {10}signed up to row 2 at/),
      expect.stringMatching(/^ {10}rows 3 to 3 are neither signed nor expected: .* unnoticed$/),
      expect.stringMatching(/^Signature 1, made at .* covers 2 chains\. An older state .*--expect-signature/),
    ])
    const json = await verify('--audit-key', key, '--expect-signature', '1', '-o', 'json')
    expect(json.lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ writer: 'operator/a', rows: 3, signed: { seq: 3, at: expect.any(String) } }),
      expect.objectContaining({ writer: 'server/b', rows: 3, problems: [] }),
      { signature: expect.objectContaining({ number: 1 }), broken: 0, concluded: expect.stringMatching(/chains\.$/) },
    ])
  })

  test('rows up to an expected head are confirmed', async () => {
    const { code, lines } = await verify(...expectHead('operator/a'), ...expectHead('server/b'))
    expect(code).toBe(0)
    expect(lines).toContainEqual(expect.stringMatching(/as expected up to row 2$/))
    expect(lines.at(-1)).toContain('Rows up to an expected head are those that were published')
  })

  type Tamper = () => Promise<unknown>
  const sql =
    (...statements: string[]): Tamper =>
    () =>
      asOwner(world.database.pool, ...statements)
  const withKey = () => ['--audit-key', key]
  const withHead = () => expectHead('operator/a')

  test.for<[string, Tamper, () => string[], RegExp]>([
    [
      'a rewritten chain, with the key',
      () => rewriteChain(world.database.pool, 'operator/a', 1, '{}'),
      withKey,
      /operator\/a: row 3 is not the one that was signed at/,
    ],
    [
      'a rewritten chain, with a head',
      () => rewriteChain(world.database.pool, 'operator/a', 2, '{}'),
      withHead,
      /operator\/a: row 3 is not the one that is expected/,
    ],
    [
      'a chain that was cut, with the key',
      sql(`delete from audit where writer = 'operator/a' and seq = 3`),
      withKey,
      /operator\/a: row 3, which was signed at .*, is gone: the chain ends with row 2/,
    ],
    [
      'a chain that was cut with what was signed, with a head',
      sql(
        `delete from audit where writer = 'operator/a' and seq = 3`,
        'delete from audit_heads',
        'delete from audit_signature',
      ),
      withHead,
      /operator\/a: row 3, which is expected, is gone: the chain ends with row 2/,
    ],
    [
      'a chain that was removed, with a head',
      sql(`delete from audit where writer = 'operator/a'`),
      withHead,
      /operator\/a: row 3, which is expected, is gone: the chain ends with row 0/,
    ],
    [
      'a chain that was removed with its head, with the key',
      sql(`delete from audit where writer = 'operator/a'`, `delete from audit_heads where writer = 'operator/a'`),
      withKey,
      /signature: the signed heads .* were changed after signature 1/,
    ],
    [
      'a head of another chain',
      sql(`update audit_heads set writer = 'server/x' where writer = 'server/b'`),
      withKey,
      /signature: the signed heads .* were changed/,
    ],
    ['no signature', sql('delete from audit_signature'), withKey, /signature: the database has no signature/],
    [
      'a forged signature',
      sql(`update audit_signature set jws = split_part(jws, '.', 1) || '.' || split_part(jws, '.', 2) || '.AAAA'`),
      withKey,
      /signature: .* was not made with this key/,
    ],
    [
      'a signature of another form',
      sql(`update audit_signature set jws = 'none'`),
      withKey,
      /signature: .* was not made with this key/,
    ],
    [
      'the key of another installation',
      async () => {
        const { publicKey } = generateKeyPairSync('ed25519')
        await writeFile(key, publicKey.export({ type: 'spki', format: 'pem' }))
      },
      withKey,
      /signature: .* was not made with this key/,
    ],
    [
      'an older state of the whole database',
      async () => {
        const { pool } = world.database
        const { rows } = await pool.query('select to_jsonb(h) as row from audit_heads h')
        const jws = await findAuditSignature(pool)
        await world.sign()
        await asOwner(pool, `delete from audit where writer = 'server/b' and seq = 3`, 'delete from audit_heads')
        await pool.query('insert into audit_heads select * from jsonb_populate_recordset(null::audit_heads, $1)', [
          JSON.stringify(rows.map(({ row }) => row)),
        ])
        await pool.query('update audit_signature set jws = $1', [jws])
        expect(await verify('--audit-key', key)).toMatchObject({ code: 0 })
      },
      () => ['--audit-key', key, '--expect-signature', '2'],
      /signature: the database has signature 1, and number 2 is expected/,
    ],
    [
      'a changed row',
      sql(`update audit set details = '{}' where writer = 'operator/a' and seq = 2`),
      () => [],
      /operator\/a: row 2 does not continue the chain; the 1 rows before it are intact/,
    ],
    [
      'another time',
      sql(`update audit set at = at - interval '1 day' where writer = 'operator/a' and seq = 1`),
      () => [],
      /operator\/a: row 1 does not continue the chain; the 0 rows/,
    ],
    [
      'no time',
      sql(`update audit set at = 'infinity' where writer = 'operator/a' and seq = 1`),
      () => [],
      /operator\/a: row 1 does not continue the chain/,
    ],
    [
      'a dropped row',
      sql(`delete from audit where writer = 'operator/a' and seq = 2`),
      () => [],
      /operator\/a: row 3 does not continue the chain; the 1 rows/,
    ],
    [
      'a dropped beginning',
      sql(`delete from audit where writer = 'operator/a' and seq = 1`),
      () => [],
      /operator\/a: row 2 does not continue the chain; the 0 rows/,
    ],
    [
      'a row before the beginning',
      sql(
        `insert into audit select writer, 0, at, action, realm, details, previous_hash, hash from audit
          where writer = 'operator/a' and seq = 1`,
      ),
      () => [],
      /operator\/a: row 0 does not continue the chain/,
    ],
    [
      'a chain without a name',
      sql(`insert into audit select '', seq, at, action, realm, details, previous_hash, hash from audit
          where writer = 'operator/a' and seq = 2`),
      () => [],
      /: row 2 does not continue the chain/,
    ],
  ])('row 136: finds %s, names it, and exits with 1', async ([, tamper, args, message]) => {
    await tamper()
    const { code, lines, stderr } = await verify(...args())
    expect(lines.filter((line) => line.startsWith('BROKEN')).join('\n')).toMatch(message)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^realmkeeper: the audit is not what was written: .* docs\/audit\.md\n$/)
    const json = await verify(...args(), '-o', 'json')
    expect(json.code).toBe(1)
    expect(JSON.parse(json.lines.at(-1) ?? '')).toMatchObject({ broken: expect.any(Number) })
  })

  test.for<[string[], number, string]>([
    [['--expect', 'operator/a'], 2, 'give a head as the operator logs it'],
    [['--expect-signature', '0', '--audit-key', 'x'], 2, 'give the number of a signature'],
    [['--expect-signature', '3'], 2, '--expect-signature needs --audit-key'],
    [['--audit-key', 'nowhere.json'], 1, '--audit-key nowhere.json cannot be read (ENOENT)'],
  ])('%j is refused', async ([args, code, message]) => {
    const result = await verify(...args)
    expect(result.code).toBe(code)
    expect(result.stderr).toContain(message)
  })

  test('a private key is refused, and not quoted', async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const jwk = privateKey.export({ format: 'jwk' })
    await writeFile(key, JSON.stringify(jwk))
    const { code, stderr } = await verify('--audit-key', key)
    expect(code).toBe(1)
    expect(stderr).toBe(`realmkeeper: --audit-key ${key} is a private key; configure the public one\n`)
  })

  test('an empty audit is reported', async () => {
    await asOwner(world.database.pool, 'delete from audit')
    expect(await verify()).toMatchObject({ code: 0, lines: ['the audit log is empty'] })
  })
})
