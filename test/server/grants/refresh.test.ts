import { createHmac, createSecretKey } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Keyring } from '../../../keyring/keyring.ts'
import { readAudit } from '../../../store/audit.ts'
import { writersOf } from '../../support/audit.ts'
import { deleteUser } from '../../../store/users.ts'
import type { UserRow } from '../../../store/users.ts'
import { endSession } from '../../../store/sessions/sessions.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { ALICE, ALICE_PASSWORD, SHOP_SECRET, startServer } from '../../support/server.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { rawJws } from '../../support/signed_tokens.ts'
import { claimsOf, headerOf, tampered } from '../../support/tokens.ts'

/** For what comes a little later, on a machine that may be busy. */
const SOON = { timeout: 120_000, interval: 20 }

let server: TestServer
let keyring: Keyring
let alice: UserRow
let aheadMillis = 0
const later = (seconds: number): void => void (aheadMillis += seconds * 1000)
/** Stands still: the wall clock may pass a second between two calls. */
const startMillis = Date.now()
const now = (): Date => new Date(startMillis + aheadMillis)
const settings = { optionalScopes: ['offers'] }

beforeAll(async () => {
  keyring = await realmKeyring()
  server = await startServer({
    now,
    prepare: async (world) => {
      const roles = ['reader', 'writer'].map((name) => ({ name, composites: [] }))
      const fields = [{ name: 'dateOfBirth', tag: 'dob', binding: 'Realm' as const, maxValueBytes: 4096 }]
      await world.addRealm({ roles, fields }, keyring)
      await world.addRealm({ realm: 'patient', tokens: { ...lifetimes, refreshTokenReuseGraceSeconds: 5 } })
      await world.addRealm({ realm: 'short', tokens: { ...lifetimes, sessionLifetimeSeconds: 2000 } })
      for (const realm of ['acme', 'patient', 'short']) {
        await world.addClient({ realm, clientId: 'shop', settings }, SHOP_SECRET)
        await world.addClient({ realm, clientId: 'app', settings })
        const user = await world.addUser({ realm, username: 'alice' }, ALICE_PASSWORD)
        if (realm === 'acme') alice = user
      }
    },
  })
})
afterAll(() => server.stop())
beforeEach(() => {
  aheadMillis = 0
})

const lifetimes = {
  accessTokenLifetimeSeconds: 300,
  refreshTokenLifetimeSeconds: 1800,
  sessionLifetimeSeconds: 36_000,
  refreshTokenReuseGraceSeconds: 0,
  signingAlgorithm: 'ES256',
}

async function login(form: Record<string, string> = {}, realm = 'acme'): Promise<TestAnswer['body']> {
  const answer = await post(realm, { ...ALICE, ...form })
  expect(answer).toMatchObject({ status: 200 })
  return answer.body
}

function post(realm: string, form: Record<string, string | undefined>): Promise<TestAnswer> {
  return server.request(`/auth/realms/${realm}/protocol/openid-connect/token`, {
    form: { client_id: 'shop', client_secret: SHOP_SECRET, ...form },
  })
}

const refresh = (token: string, form: Record<string, string | undefined> = {}, realm = 'acme') =>
  post(realm, { grant_type: 'refresh_token', refresh_token: token, ...form })

const refusal = (error_description: string) => ({ status: 400, body: { error: 'invalid_grant', error_description } })

describe('a refresh', () => {
  test('gives new tokens of the same session, and a longer idle time', async () => {
    const first = await login()
    later(60)
    const { status, body } = await refresh(first.refresh_token)
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(Object.keys(first))
    expect(body).toMatchObject({ session_state: first.session_state, refresh_expires_in: 1800, scope: first.scope })
    expect(body.refresh_token).not.toBe(first.refresh_token)
    expect(claimsOf(body.refresh_token)).toMatchObject({ gen: 1, sid: first.session_state })
    expect(claimsOf(body.id_token).auth_time).toBe(claimsOf(first.id_token).auth_time)
    expect(claimsOf(body.access_token).jti).not.toBe(claimsOf(first.access_token).jti)
  })

  test('never outlives the session: what is left of it is all that is given', async () => {
    const first = await login({}, 'short')
    later(1790)
    const second = await refresh(first.refresh_token, {}, 'short')
    expect(second.body.refresh_expires_in).toBe(210)
    expect(second.body.expires_in).toBe(210)
    later(200)
    const third = await refresh(second.body.refresh_token, {}, 'short')
    expect(third.body).toMatchObject({ expires_in: 10, refresh_expires_in: 10 })
    later(11)
    expect(await refresh(third.body.refresh_token, {}, 'short')).toMatchObject(refusal('Token is not active'))
  })

  test('row 31: a wider scope and unknown words are dropped, a narrower one holds for that access token', async () => {
    const first = await login({ scope: 'openid offers' })
    const narrow = await refresh(first.refresh_token, { scope: 'offers profile unknown' })
    expect(narrow.body.scope).toBe('offers profile')
    expect(narrow.body).not.toHaveProperty('id_token')
    const wide = await refresh(narrow.body.refresh_token)
    expect(wide.body.scope).toBe('openid offers profile email')
  })

  test('row 31: a scope that was not granted at login is not granted later', async () => {
    const first = await login({ scope: 'openid' })
    const { body } = await refresh(first.refresh_token, { scope: 'openid offers' })
    expect(body.scope).toBe('openid')
  })

  test('row 30: roles and field scopes are as they are now, in both directions', async () => {
    const first = await login({ scope: 'openid _svc_dob.selfencrypt' })
    expect(first.scope).toBe('openid profile email')
    await server.grant('acme', alice.subject, ['reader', '_svc_dob.selfencrypt'])
    const more = await refresh(first.refresh_token)
    expect(more.body.scope).toBe('openid _svc_dob.selfencrypt profile email')
    expect(claimsOf(more.body.access_token).realm_access).toEqual({ roles: ['_svc_dob.selfencrypt', 'reader'] })
    await server.grant('acme', alice.subject, [])
    const less = await refresh(more.body.refresh_token)
    expect(less.body.scope).toBe('openid profile email')
    expect(claimsOf(less.body.access_token).realm_access).toEqual({ roles: [] })
  })

  test('a session lock does not concern: wrong passwords do not stop a refresh', async () => {
    await server.addUser({ username: 'mallory' }, 'mallory-password')
    const first = await login({ username: 'mallory', password: 'mallory-password' })
    for (let tries = 0; tries < 11; tries++) await post('acme', { ...ALICE, username: 'mallory', password: 'wrong' })
    const locked = await post('acme', { ...ALICE, username: 'mallory', password: 'mallory-password' })
    expect(locked).toMatchObject({ status: 401 })
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 200 })
  })
})

describe('row 27: an unfit token', () => {
  const refreshKey = () => createSecretKey(Buffer.from(keyring.refresh[0]?.key ?? '', 'base64url'))
  const signed = async (token: string, change: object, header: object = {}): Promise<string> =>
    rawJws(
      { alg: 'HS512', kid: String(headerOf(token).kid), ...header },
      { ...claimsOf(token), ...change },
      { alg: 'HS512', key: refreshKey() },
    )

  test.for<[string, (first: TestAnswer['body']) => string | Promise<string>]>([
    ['garbage', () => 'garbage'],
    ['three dots of nothing', () => '..'],
    ['an over-long one', () => 'x'.repeat(20_000)],
    ['an access token', (first) => first.access_token],
    ['an ID token', (first) => first.id_token],
    ['one cut short', (first) => first.refresh_token.slice(0, -1)],
    ['one with something behind it', (first) => `${first.refresh_token}A`],
    ['another content under the same signature', (first) => tampered(first.refresh_token, { gen: 7 })],
    ['a signature of none', (first) => tampered(first.refresh_token, {}).replace(/[^.]*$/, '')],
    ['an unknown kid', (first) => signed(first.refresh_token, {}, { kid: '../../etc/passwd' })],
    ['a kid named as a member of every object', (first) => signed(first.refresh_token, {}, { kid: '__proto__' })],
    ['another issuer', (first) => signed(first.refresh_token, { iss: 'https://elsewhere.test' })],
    ['another audience', (first) => signed(first.refresh_token, { aud: 'shop' })],
    ['another kind', (first) => signed(first.refresh_token, { typ: 'Bearer' })],
    ['a generation that is no number', (first) => signed(first.refresh_token, { gen: '0' })],
    ['an invalid session id', (first) => signed(first.refresh_token, { sid: "' or 1=1" })],
    ['an expiry that is a text', (first) => signed(first.refresh_token, { exp: '9999999999' })],
    ["another realm's", async () => (await login({}, 'patient')).refresh_token],
  ])('%s', async ([, unfit]) => {
    expect(await refresh(await unfit(await login()))).toMatchObject(refusal('Invalid refresh token'))
  })

  test('signed with HS256 and the same key', async () => {
    const first = await login()
    const input = [{ alg: 'HS256', kid: headerOf(first.refresh_token).kid }, claimsOf(first.refresh_token)]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const forged = `${input}.${createHmac('sha256', refreshKey()).update(input).digest('base64url')}`
    expect(await refresh(forged)).toMatchObject(refusal('Invalid refresh token'))
  })

  test("another client's: refused without an effect on the session", async () => {
    const first = await login()
    const stolen = await refresh(first.refresh_token, { client_id: 'app', client_secret: undefined })
    expect(stolen).toMatchObject(refusal('Invalid refresh token'))
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 200 })
  })

  test('idle for too long', async () => {
    const first = await login()
    later(1801)
    expect(await refresh(first.refresh_token)).toMatchObject(refusal('Token is not active'))
  })

  test('of a session that was ended', async () => {
    const first = await login()
    const session = { realm: 'acme', sid: first.session_state, clientId: 'shop' }
    await endSession(server.database.pool, session, 'logout', now())
    expect(await refresh(first.refresh_token)).toMatchObject(refusal('Session not active'))
  })

  test('of a session that was swept', async () => {
    const first = await login()
    await server.database.pool.query('delete from sessions where sid = $1', [first.session_state])
    expect(await refresh(first.refresh_token)).toMatchObject(refusal('Session not active'))
  })

  test('row 30: of a user who was disabled, until enabled again', async () => {
    const bob = await server.addUser({ username: 'bob' }, 'bob-password')
    const first = await login({ username: 'bob', password: 'bob-password' })
    await server.addUser({ ...bob, enabled: false })
    expect(await refresh(first.refresh_token)).toMatchObject(refusal('Account disabled'))
    await server.addUser(bob)
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 200 })
  })

  test('row 30: of a user who was deleted', async () => {
    const carol = await server.addUser({ username: 'carol' }, 'carol-password')
    const first = await login({ username: 'carol', password: 'carol-password' })
    await deleteUser(server.database.pool, carol.resourceUid)
    expect(await refresh(first.refresh_token)).toMatchObject(refusal('Account disabled'))
  })

  test('issued before notBefore', async () => {
    let { refresh_token: token } = await login({}, 'short')
    const notBefore = new Date(now().getTime() + 1000).toISOString()
    await server.addRealm({ realm: 'short', tokens: { ...lifetimes, notBefore } }, null)
    // Until the server knows of it, each refresh succeeds and spends its token.
    async function refreshAgain(): Promise<TestAnswer> {
      const answer = await refresh(token, {}, 'short')
      if (answer.status === 200) token = answer.body.refresh_token
      return answer
    }
    await expect.poll(refreshAgain, SOON).toMatchObject(refusal('Stale token'))
    later(2)
    const second = await login({}, 'short')
    expect(second['not-before-policy']).toBe(Math.ceil(Date.parse(notBefore) / 1000))
    expect(await refresh(second.refresh_token, {}, 'short')).toMatchObject({ status: 200 })
  })

  test('row 30: after the secret was rotated the old one is refused and the session goes on with the new one', async () => {
    await server.addClient({ clientId: 'till' }, 'till-secret-number-1')
    const credentials = { client_id: 'till', client_secret: 'till-secret-number-1' }
    await expect.poll(() => post('acme', { ...ALICE, ...credentials }), SOON).toMatchObject({ status: 200 })
    const first = await login(credentials)
    const { resourceUid } = (
      await server.database.pool.query(`select resource_uid as "resourceUid" from clients where client_id = 'till'`)
    ).rows[0]
    await server.addClient({ clientId: 'till', resourceUid }, 'till-secret-number-2')
    await expect
      .poll(() => post('acme', { ...ALICE, ...credentials }), SOON)
      .toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(await refresh(first.refresh_token, credentials)).toMatchObject({ status: 401 })
    const refreshed = refresh(first.refresh_token, { client_id: 'till', client_secret: 'till-secret-number-2' })
    expect(await refreshed).toMatchObject({ status: 200 })
  })
})

describe('a token used twice', () => {
  test('row 29: without a grace is reuse: the session is over, the winner with it, and that is recorded', async () => {
    const first = await login()
    const { body: second } = await refresh(first.refresh_token)
    expect(await refresh(first.refresh_token)).toMatchObject(refusal('Refresh token reused'))
    expect(await refresh(second.refresh_token)).toMatchObject(refusal('Session not active'))
    expect(await refresh(first.refresh_token)).toMatchObject(refusal('Session not active'))

    const [writer = ''] = await writersOf(server.database.pool)
    const reuses = (await readAudit(server.database.pool, writer))
      .filter(({ action }) => action === 'refresh_token_reused')
      .map(({ details }) => JSON.parse(details))
    expect(reuses).toContainEqual({ sid: first.session_state, clientId: 'shop', subject: alice.subject, generation: 0 })
    expect(server.log.join('')).toContain('a refresh token was used twice')
  })

  test('row 28: fifty at once without a grace: one is answered, then the session is over', async () => {
    const first = await login()
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(first.refresh_token)))
    const won = answers.filter(({ status }) => status === 200)
    expect(won).toHaveLength(1)
    expect(answers.filter(({ body }) => body.error_description === 'Refresh token reused')).toHaveLength(1)
    expect(await refresh(won[0]?.body.refresh_token)).toMatchObject(refusal('Session not active'))
  })

  test('row 28: fifty at once within the grace: all get one successor, which is good', async () => {
    const first = await login({}, 'patient')
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(first.refresh_token, {}, 'patient')))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200))
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1)
    expect(await refresh(answers[0]?.body.refresh_token, {}, 'patient')).toMatchObject({ status: 200 })
  })

  test('row 32: a lost answer is made good within the grace, with the same refresh token and another access token', async () => {
    const first = await login({}, 'patient')
    const { body: lost } = await refresh(first.refresh_token, {}, 'patient')
    later(4)
    const { body: repeated } = await refresh(first.refresh_token, {}, 'patient')
    expect(repeated.refresh_token).toBe(lost.refresh_token)
    expect(repeated.access_token).not.toBe(lost.access_token)
    expect(repeated.refresh_expires_in).toBe(1796)
  })

  test('row 32: without a grace a lost answer means one new login, and no request that never ends', async () => {
    const first = await login()
    await refresh(first.refresh_token)
    expect(await refresh(first.refresh_token)).toMatchObject(refusal('Refresh token reused'))
    expect(await refresh((await login()).refresh_token)).toMatchObject({ status: 200 })
  })

  test('row 29: after the grace is reuse', async () => {
    const first = await login({}, 'patient')
    const { body: second } = await refresh(first.refresh_token, {}, 'patient')
    later(6)
    expect(await refresh(first.refresh_token, {}, 'patient')).toMatchObject(refusal('Refresh token reused'))
    expect(await refresh(second.refresh_token, {}, 'patient')).toMatchObject(refusal('Session not active'))
  })

  test('row 29: older than the one before is reuse even within the grace', async () => {
    const first = await login({}, 'patient')
    const { body: second } = await refresh(first.refresh_token, {}, 'patient')
    await refresh(second.refresh_token, {}, 'patient')
    expect(await refresh(first.refresh_token, {}, 'patient')).toMatchObject(refusal('Refresh token reused'))
  })

  test('a repetition does not extend the idle time', async () => {
    const first = await login({}, 'patient')
    const { body: second } = await refresh(first.refresh_token, {}, 'patient')
    later(3)
    const { body: repeated } = await refresh(first.refresh_token, {}, 'patient')
    expect(claimsOf(repeated.refresh_token).exp).toBe(claimsOf(second.refresh_token).exp)
  })

  test('a disabled user gets nothing within the grace either', async () => {
    const dora = await server.addUser({ realm: 'patient', username: 'dora' }, 'dora-password')
    const first = await login({ username: 'dora', password: 'dora-password' }, 'patient')
    await refresh(first.refresh_token, {}, 'patient')
    await server.addUser({ ...dora, enabled: false })
    expect(await refresh(first.refresh_token, {}, 'patient')).toMatchObject(refusal('Account disabled'))
  })
})

describe('row 33: a clock that steps', () => {
  test.for([300, -300])('by %i s gives no negative time', async (step) => {
    const first = await login()
    later(step)
    const { status, body } = await refresh(first.refresh_token)
    expect(status).toBe(200)
    expect(body.expires_in).toBe(300)
    expect(body.refresh_expires_in).toBe(1800)
  })
})
