import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { startFieldServer } from '../support/field_world.ts'
import type { FieldServer } from '../support/field_world.ts'
import { ALICE, SHOP_SECRET } from '../support/server.ts'
import { resigned } from '../support/signed_tokens.ts'
import { hashPassword, QUICK_HASHING } from '../support/world.ts'

// Each bound from both sides: the largest accepted input, and one more.

let server: FieldServer
beforeAll(async () => {
  server = await startFieldServer({ config: { failedDecryptsPerSubject: 0 } })
})
afterAll(() => server?.stop())

const badCredentials = { status: 401, body: { error: 'invalid_grant', error_description: 'Invalid user credentials' } }
const invalidScope = { status: 400, body: { error: 'invalid_scope', error_description: 'Invalid scopes' } }

describe('row 9: a scope', () => {
  const words = (count: number): string => Array.from({ length: count }, (_, at) => `_svc_f${at}.selfencrypt`).join(' ')

  test('has at most fifty words', async () => {
    expect(await server.token({ ...ALICE, scope: words(50) })).toMatchObject({ status: 200 })
    expect(await server.token({ ...ALICE, scope: words(51) })).toMatchObject(invalidScope)
  })

  test('has at most 2048 characters', async () => {
    // Spaces between words count, and stand for nothing.
    const filled = (length: number): string => `openid${' '.repeat(length - 12)}openid`
    expect(await server.token({ ...ALICE, scope: filled(2048) })).toMatchObject({ status: 200 })
    expect(await server.token({ ...ALICE, scope: filled(2049) })).toMatchObject(invalidScope)
  })

  test('of a refresh is bounded in the same way, and a refusal spends no token', async () => {
    const { body } = await server.token(ALICE)
    const refresh = (scope: string) =>
      server.token({ grant_type: 'refresh_token', refresh_token: body.refresh_token, scope })
    expect(await refresh(words(51))).toMatchObject(invalidScope)
    expect(await refresh('x'.repeat(2049))).toMatchObject(invalidScope)
    expect(await refresh(words(50))).toMatchObject({ status: 200 })
  })
})

describe('row 19: a password', () => {
  test('has at most 1024 characters: a longer one is not even compared', async () => {
    for (const length of [1024, 1025]) {
      const password = 'x'.repeat(length)
      const passwordHash = await hashPassword(password, QUICK_HASHING)
      const username = `password-${length}`
      await server.addUser({ username, passwordHash, passwordSource: 'test' })
      const answer = await server.token({ ...ALICE, username, password })
      expect(answer).toMatchObject(length === 1024 ? { status: 200 } : badCredentials)
    }
  })
})

describe('row 20: a user name', () => {
  test('has at most 255 characters', async () => {
    for (const length of [255, 256]) {
      const username = 'u'.repeat(length)
      await server.addUser({ username }, 'long-name-password')
      const answer = await server.token({ ...ALICE, username, password: 'long-name-password' })
      expect(answer).toMatchObject(length === 255 ? { status: 200 } : badCredentials)
    }
  })
})

describe('row 37: a token', () => {
  /** The token, signed again, with a member that makes it this long. */
  async function padded(token: string, length: number): Promise<string> {
    for (let pad = Math.floor(((length - token.length) * 3) / 4) - 40; ; pad++) {
      const longer = await resigned(token, server.keyring, { payload: { pad: 'x'.repeat(pad) } })
      if (longer.length >= length) return longer
    }
  }

  test('has at most 16 KiB', async () => {
    const token = await server.tokenOf('alice')
    const [within, beyond] = [await padded(token, 16 * 1024 - 8), await padded(token, 16 * 1024 + 1)]
    expect([within.length <= 16 * 1024, beyond.length > 16 * 1024]).toEqual([true, true])
    const introspect = (shown: string) =>
      server.request('token/introspect', { form: { client_id: 'shop', client_secret: SHOP_SECRET, token: shown } })
    expect((await introspect(within)).body.active).toBe(true)
    expect((await introspect(beyond)).text).toBe('{"active":false}')
    const userinfo = (shown: string) => server.request('userinfo', { form: { access_token: shown } })
    expect(await userinfo(within)).toMatchObject({ status: 200 })
    expect(await userinfo(beyond)).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
  })

  test('that is too long for its user’s roles is issued, and the log warns', async () => {
    const roles = Array.from({ length: 200 }, (_, at) => ({ name: `${at}-${'r'.repeat(100)}`, composites: [] }))
    await server.addRealm({ ...server.realm, roles }, null)
    const rita = await server.addUser({ username: 'rita' }, 'rita-password')
    const login = () => server.token({ ...ALICE, username: 'rita', password: 'rita-password' })
    expect((await login()).status).toBe(200)
    expect(server.log.join('')).not.toContain('too long to be used')
    await server.grant(
      'acme',
      rita.subject,
      roles.map(({ name }) => name),
    )
    await eventually(async () => expect((await login()).body.access_token.length).toBeGreaterThan(16 * 1024))
    expect(server.log.join('')).toContain('an access token is too long to be used')
    await server.addRealm(server.realm, null)
  })

  test('in a header is bounded by what a head may be', async () => {
    const headers = { authorization: `Bearer ${'x'.repeat(20_000)}` }
    expect(await server.request('userinfo', { headers })).toMatchObject({
      status: 431,
      body: { error: 'invalid_request' },
    })
    const shorter = { authorization: `Bearer ${'x'.repeat(12_000)}` }
    expect(await server.request('userinfo', { headers: shorter })).toMatchObject({
      status: 401,
      body: { error: 'invalid_token' },
    })
  })
})

describe('row 8: a body', () => {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const form = new URLSearchParams({ ...ALICE, client_id: 'app' }).toString()

  test.for(['token', 'token/introspect', 'logout', 'revoke', 'userinfo'])('of %s: 64 KiB', async (path) => {
    const answer = await server.request(path, { body: 'x'.repeat(64 * 1024 + 1), headers: type })
    expect(answer).toMatchObject({ status: 413, body: { error: 'request_too_large' } })
    expect(answer.headers.get('connection')).toBe('close')
  })

  test.for(['encrypt', 'decrypt', 'rewrap'])('of %s: 1 MiB, with a good token and without', async (path) => {
    const token = await server.tokenOf('alice')
    const open = '{"field":"dateOfBirth","value":"x","ciphertext":"rk1:1:AA","more":"'
    const full = `${open}${'x'.repeat(1024 * 1024 - open.length - 2)}"}`
    for (const authorization of [`Bearer ${token}`, 'Bearer garbage']) {
      const headers = { authorization, 'content-type': 'application/json' }
      const tooLarge = await server.request(path, { body: `${full} `, headers })
      expect(tooLarge).toMatchObject({ status: 413, body: { error: 'request_too_large' } })
      expect((await server.request(path, { body: full, headers })).status).not.toBe(413)
    }
  })

  test('row 7: a thousand that are too large leave no memory behind', async () => {
    const body = 'x'.repeat(1024 * 1024)
    const post = () => server.request('token', { body, headers: type })
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 10 }, post))
    const before = process.memoryUsage().rss
    for (let round = 0; round < 20; round++) {
      for (const answer of await Promise.all(Array.from({ length: 10 }, post))) expect(answer.status).toBe(413)
    }
    // Two hundred megabytes came.
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024)
    expect(await server.request('token', { body: form, headers: type })).toMatchObject({ status: 200 })
  })
})
