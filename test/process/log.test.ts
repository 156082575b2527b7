import { describe, expect, test } from 'vitest'
import { createLog, overloadLog } from '../../process/log.ts'

function logged(write: (log: ReturnType<typeof createLog>) => void): { line: Record<string, unknown>; text: string } {
  const lines: string[] = []
  write(createLog({ name: 'server', level: 'debug', destination: { write: (line) => void lines.push(line) } }))
  expect(lines).toHaveLength(1)
  return { line: JSON.parse(lines[0] ?? ''), text: lines[0] ?? '' }
}

const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl'

describe('a log line holds no secrets', () => {
  test.for([
    ['a password', { password: 'canary-1' }],
    ['a secret under a camelCase name', { clientSecret: 'canary-1' }],
    ['a token under a snake_case name', { refresh_token: 'canary-1' }],
    ['a header', { headers: { authorization: 'canary-1', Cookie: 'canary-1', 'x-api-key': 'canary-1' } }],
    ['a value to encrypt', { items: [{ field: 'dateOfBirth', value: 'canary-1' }] }],
    ['a list of keys', { keys: ['canary-1'] }],
    ['bytes', { body: Buffer.from('canary-1') }],
    ['the detail of a PostgreSQL error', { err: Object.assign(new Error('duplicate'), { detail: 'canary-1' }) }],
    ['a secret in the cause of an error', { err: new Error('no', { cause: { password: 'canary-1' } }) }],
    ['a database URL', { note: 'connecting to postgres://realmkeeper:canary-1@db:5432/x' }],
  ])('%s', ([, members]) => {
    expect(logged((log) => log.info(members, 'x')).text).not.toContain('canary-1')
  })

  test('a secret bound to a child log', () => {
    expect(logged((log) => log.child({ password: 'canary-1' }).info('x')).text).not.toContain('canary-1')
  })

  test.for([
    ['a token', TOKEN, '[token]'],
    ['a ciphertext', 'rk1:1:AAECAwQFBgcICQ', '[ciphertext]'],
    ['an authorization header', 'Basic c2hvcDpzZWNyZXQ=', 'Basic [redacted]'],
    ['a password hash', '$argon2id$v=19$m=7168,t=5,p=1$c2FsdA$aGFzaA', '[password hash]'],
  ])('%s in a message or an error', ([, secret, shown]) => {
    expect(logged((log) => log.warn(`got ${secret}`)).line.msg).toBe(`got ${shown}`)
    expect(logged((log) => log.warn({ err: new Error(`got ${secret}`) })).text).not.toContain(secret)
    expect(logged((log) => log.warn(new Error(`got ${secret}`))).text).not.toContain(secret)
  })
})

describe('a log stays readable', () => {
  test('a line stays one line: line breaks, terminal sequences and text directions are escaped', () => {
    const { line } = logged((log) => log.info({ username: 'a\nb' }, '\u001b[31mred\u202e\r\n{"forged":1}'))
    expect(line).toMatchObject({
      username: 'a\\u000ab',
      msg: '\\u001b[31mred\\u202e\\u000d\\u000a{"forged":1}',
    })
  })

  test('a long text is cut and shows its length', () => {
    expect(logged((log) => log.info('x'.repeat(100_000))).line.msg).toBe(`${'x'.repeat(2000)}… (100000 characters)`)
  })

  test('deep and cyclic members are cut', () => {
    const ring: Record<string, unknown> = { name: 'ring' }
    ring.ring = ring
    expect(logged((log) => log.info({ ring }, 'x')).text.length).toBeLessThan(1000)
  })

  test('an error keeps its code, its stack and its cause', () => {
    const error = Object.assign(new Error('outer', { cause: new Error('inner') }), { code: '23505' })
    expect(logged((log) => log.error({ err: error }, 'failed')).line).toMatchObject({
      level: 'error',
      process: 'server',
      msg: 'failed',
      err: { message: 'outer', code: '23505', stack: expect.stringContaining('at '), cause: { message: 'inner' } },
    })
  })

  test('members whose name only contains the letters of a secret one are shown', () => {
    const members = {
      tokenEndpoint: 'https://x',
      keyVersion: 3,
      keyring: 'realm-a-keyring',
      monkey: 'b',
      requestId: 'r',
    }
    expect(logged((log) => log.info(members, 'x')).line).toMatchObject(members)
  })
})

describe('refusals for overload', () => {
  function sampled() {
    const lines: Record<string, unknown>[] = []
    const timers: (() => void)[] = []
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
    const logOverload = overloadLog(createLog({ name: 'server', level: 'info', destination }), (_, then) => {
      timers.push(then)
    })
    const endMinute = () => {
      for (const then of timers.splice(0)) then()
    }
    return { lines, logOverload, endMinute }
  }

  test('are logged as warn, ten of each kind a minute, then the number of the others', () => {
    const { lines, logOverload, endMinute } = sampled()
    for (let at = 0; at < 1_000; at++) logOverload('connections')
    logOverload('password_hashes', { realm: 'acme' })
    expect(lines).toHaveLength(11)
    expect(lines[10]).toMatchObject({ level: 'warn', overload: 'password_hashes', realm: 'acme' })
    endMinute()
    expect(lines).toHaveLength(12)
    expect(lines[11]).toMatchObject({ level: 'warn', overload: 'connections', notLogged: 990 })
  })

  test('are logged again in the next minute, and a quiet minute has no line', () => {
    const { lines, logOverload, endMinute } = sampled()
    for (let at = 0; at < 11; at++) logOverload('connections')
    endMinute()
    endMinute()
    expect(lines).toHaveLength(11)
    logOverload('connections')
    endMinute()
    expect(lines.map(({ notLogged }) => notLogged)).toEqual([...Array(10), 1, undefined])
  })
})
