import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { deleteClient } from '../../store/clients.ts'
import { noteChange } from '../../store/changes.ts'
import { endSessions } from '../../store/sessions/session_ends.ts'
import { deleteUser, upsertUser } from '../../store/users.ts'
import { eventually } from '../support/eventually.ts'
import { HELD, startFieldServer } from '../support/field_world.ts'
import type { FieldServer } from '../support/field_world.ts'
import { insertManySessions } from '../support/many_sessions.ts'
import { realmKeyring } from '../support/realm_keyring.ts'
import { ALICE_PASSWORD, SHOP_SECRET } from '../support/server.ts'
import { resigned, tokenParts } from '../support/signed_tokens.ts'

// One predicate decides whether an access token is good, wherever one is shown: introspection, userinfo and field
// encryption agree on every reason.

let server: FieldServer
let ciphertext: string
let offset = 0
beforeAll(async () => {
  server = await startFieldServer({
    now: () => new Date(Date.now() + offset),
    config: { failedDecryptsPerSubject: 0 },
  })
  ciphertext = await server.sealed('dateOfBirth', '1990-01-31')
})
afterAll(() => server?.stop())
beforeEach(() => {
  offset = 0
})

/** The answer of each endpoint to a token. */
async function seen(token: string): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${token}` }
  const item = { field: 'dateOfBirth', value: 'x', ciphertext }
  const [introspect, getUserinfo, postUserinfo, encrypt, decrypt, rewrap] = await Promise.all([
    server.request('token/introspect', { form: { client_id: 'shop', client_secret: SHOP_SECRET, token } }),
    server.request('userinfo', { headers }),
    server.request('userinfo', { form: { access_token: token } }),
    server.encrypt(token, item),
    server.decrypt(token, item),
    server.rewrap(token, item),
  ])
  const outcome = ({ status, body }: typeof encrypt): unknown => (status === 200 ? 200 : `${status} ${body.error}`)
  return {
    introspect: introspect.status === 200 ? introspect.body.active : outcome(introspect),
    getUserinfo: outcome(getUserinfo),
    postUserinfo: outcome(postUserinfo),
    encrypt: outcome(encrypt),
    decrypt: outcome(decrypt),
    rewrap: outcome(rewrap),
  }
}

const everywhere = (introspect: unknown, others: unknown) => ({
  introspect,
  getUserinfo: others,
  postUserinfo: others,
  encrypt: others,
  decrypt: others,
  rewrap: others,
})
const GOOD = everywhere(true, 200)
const NOT_GOOD = everywhere(false, '401 invalid_token')
const epoch = (seconds: number): number => Math.floor((Date.now() + offset) / 1000) + seconds

test('a good token is good at every endpoint', async () => {
  expect(await seen(await server.tokenOf('alice'))).toEqual(GOOD)
})

describe('rows 40 to 45: the header and the claims', () => {
  test.for<[string, (token: string) => string | Promise<string>]>([
    ['a signature of other keys', async (token) => resigned(token, await realmKeyring(), {})],
    ['a signature that is cut', (token) => token.slice(0, -4)],
    ['another type in the header', (token) => resigned(token, server.keyring, { header: { typ: 'rk-license+jwt' } })],
    ['no type in the header', (token) => resigned(token, server.keyring, { header: { typ: undefined } })],
    ['another type in the claims', (token) => resigned(token, server.keyring, { payload: { typ: 'ID' } })],
    ['no type in the claims', (token) => resigned(token, server.keyring, { payload: { typ: undefined } })],
    ['another issuer', (token) => resigned(token, server.keyring, { payload: { iss: `${server.url}/realms/acme` } })],
    ['no subject', (token) => resigned(token, server.keyring, { payload: { sub: undefined } })],
    [
      'another subject than its session',
      (token) => resigned(token, server.keyring, { payload: { sub: 'erin-subject' } }),
    ],
    ['another client than its session', (token) => resigned(token, server.keyring, { payload: { azp: 'app' } })],
    ['an unknown extension', (token) => resigned(token, server.keyring, { header: { crit: ['x'], x: 1 } })],
    ['no end', (token) => resigned(token, server.keyring, { payload: { exp: undefined } })],
  ])('%s', async ([, change]) => {
    expect(await seen(await change(await server.tokenOf('alice')))).toEqual(NOT_GOOD)
  })
})

describe('row 33: its times', () => {
  test('no leeway at the end: good until that second begins', async () => {
    const token = await server.tokenOf('alice')
    const ending = (seconds: number) => resigned(token, server.keyring, { payload: { exp: epoch(seconds) } })
    expect(await seen(await ending(30))).toEqual(GOOD)
    expect(await seen(await ending(0))).toEqual(NOT_GOOD)
    expect(await seen(await ending(-30))).toEqual(NOT_GOOD)
  })

  test('a clock that is ahead by less than a minute is accepted', async () => {
    const token = await server.tokenOf('alice')
    const issued = (seconds: number) => resigned(token, server.keyring, { payload: { iat: epoch(seconds) } })
    expect(await seen(await issued(50))).toEqual(GOOD)
    expect(await seen(await issued(70))).toEqual(NOT_GOOD)
  })

  test('the end of its session, before its own expiry', async () => {
    const token = await server.tokenOf('alice')
    const lasting = await resigned(token, server.keyring, { payload: { exp: epoch(1_000_000) } })
    expect(await seen(lasting)).toEqual(GOOD)
    offset = 36_001_000
    expect(await seen(lasting)).toEqual(NOT_GOOD)
  })

  test('issued before the realm’s notBefore', async () => {
    const token = await server.tokenOf('alice')
    const notBefore = new Date(Date.now() + 5_000).toISOString()
    await server.addRealm({ ...server.realm, tokens: { ...server.realm.tokens, notBefore } }, null)
    await eventually(async () => expect(await seen(token)).toEqual(NOT_GOOD))
    await server.addRealm(server.realm, null)
    await eventually(async () => expect(await seen(token)).toEqual(GOOD))
  })
})

describe('events after its issue', () => {
  test('rows 37 and 51: its session was ended, or swept', async () => {
    const [ended, swept] = [await server.tokenOf('alice'), await server.tokenOf('alice')]
    const sid = (token: string) => tokenParts(token).payload.sid
    await server.database.pool.query(`update sessions set ended_at = now(), end_reason = 'logout' where sid = $1`, [
      sid(ended),
    ])
    await server.database.pool.query('delete from sessions where sid = $1', [sid(swept)])
    expect(await seen(ended)).toEqual(NOT_GOOD)
    expect(await seen(swept)).toEqual(NOT_GOOD)
  })

  test('row 48: its user was disabled, or removed', async () => {
    const ida = await server.addUser({ username: 'ida', subjectPinned: true }, ALICE_PASSWORD)
    await server.grant('acme', ida.subject, HELD)
    const token = await server.tokenOf('ida')
    expect(await seen(token)).toEqual(GOOD)
    await upsertUser(server.database.pool, { ...ida, enabled: false })
    expect(await seen(token)).toEqual(NOT_GOOD)
    await upsertUser(server.database.pool, ida)
    expect(await seen(token)).toEqual(GOOD)
    await deleteUser(server.database.pool, ida.resourceUid)
    expect(await seen(token)).toEqual(NOT_GOOD)
  })

  test('the sessions of its user, client or realm were ended, and tens of thousands wait for their deletion', async () => {
    const { pool } = server.database
    const mia = await server.addUser({ username: 'mia', subjectPinned: true }, ALICE_PASSWORD)
    await server.grant('acme', mia.subject, HELD)
    const many = { realm: 'acme', clientId: 'shop', subjects: [mia.subject], count: 20_000 }
    await insertManySessions(pool, many)
    for (const owner of [{ subject: mia.subject }, { clientId: 'shop' }, {}]) {
      const token = await server.tokenOf('mia')
      const login = { username: 'mia', password: ALICE_PASSWORD }
      const { body } = await server.token({ grant_type: 'password', ...login })
      expect(await seen(token)).toEqual(GOOD)
      await endSessions(pool, { realm: 'acme', ...owner }, 'password_changed', new Date())
      expect(await seen(token)).toEqual(NOT_GOOD)
      const { refresh_token } = body
      const refresh = await server.token({ grant_type: 'refresh_token', refresh_token })
      expect(refresh).toMatchObject({ status: 400, body: { error_description: 'Session not active' } })
      // A later login is good, although the sessions before it still wait.
      expect(await seen(await server.tokenOf('mia'))).toEqual(GOOD)
    }
    const { rowCount } = await pool.query('select from sessions where subject = $1 and ended_at is null', [mia.subject])
    expect(rowCount).toBeGreaterThan(15_000)
    await pool.query('delete from session_ends')
    await deleteUser(pool, mia.resourceUid)
  })

  test('row 13: its client was disabled, or removed', async () => {
    const row = await server.addClient({ clientId: 'kiosk', settings: { audiences: ['shop'] } })
    const token = await eventually(() => server.tokenOf('alice', undefined, 'kiosk'))
    await eventually(async () => expect(await seen(token)).toEqual(GOOD))
    await server.addClient({ ...row, enabled: false })
    await eventually(async () => expect(await seen(token)).toEqual(NOT_GOOD))
    await server.addClient(row)
    await eventually(async () => expect(await seen(token)).toEqual(GOOD))
    await deleteClient(server.database.pool, row.resourceUid)
    await noteChange(server.database.pool, { realm: 'acme', kind: 'client', key: 'kiosk' }, new Date())
    await eventually(async () => expect(await seen(token)).toEqual(NOT_GOOD))
  })

  test('row 17: its realm was disabled', async () => {
    const token = await server.tokenOf('alice')
    await server.addRealm({ ...server.realm, enabled: false }, null)
    const closed = everywhere('403 access_denied', '403 access_denied')
    await eventually(async () => expect(await seen(token)).toEqual(closed))
    await server.addRealm(server.realm, null)
    await eventually(async () => expect(await seen(token)).toEqual(GOOD))
  })
})
