import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HELD, startFieldServer } from '../../support/field_world.ts'
import type { FieldServer } from '../../support/field_world.ts'
import type { TestAnswer } from '../../support/server.ts'
import { resigned } from '../../support/signed_tokens.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { upsertUser } from '../../../store/users.ts'
import { eventually } from '../../support/eventually.ts'

let server: FieldServer
let alice: string
beforeAll(async () => {
  server = await startFieldServer({ config: { failedDecryptsPerSubject: 0 } })
  alice = await server.tokenOf('alice')
})
afterAll(() => server?.stop())

const ENDPOINTS = ['encrypt', 'decrypt', 'rewrap'] as const
const outcome = ({ status, body }: TestAnswer): [number, string] => [status, body.error]

describe('what goes in comes out', () => {
  test('encrypt, decrypt, rewrap answer as they are described', async () => {
    const encrypted = await server.encrypt(alice, { field: 'dateOfBirth', value: '1990-01-31' })
    expect(encrypted.status).toBe(200)
    expect(encrypted.headers.get('cache-control')).toBe('no-store')
    expect(Object.keys(encrypted.body)).toEqual(['field', 'ciphertext', 'keyVersion'])
    expect(encrypted.body).toMatchObject({ field: 'dateOfBirth', keyVersion: 1 })
    const { ciphertext } = encrypted.body
    expect(ciphertext).toMatch(/^rk1:1:[A-Za-z0-9_-]+$/)

    const decrypted = await server.decrypt(alice, { field: 'dateOfBirth', ciphertext })
    expect([decrypted.status, decrypted.body]).toEqual([
      200,
      { field: 'dateOfBirth', value: '1990-01-31', keyVersion: 1, stale: false },
    ])
    const rewrapped = await server.rewrap(alice, { field: 'dateOfBirth', ciphertext })
    expect([rewrapped.status, rewrapped.body]).toEqual([
      200,
      { field: 'dateOfBirth', ciphertext, keyVersion: 1, rewrapped: false },
    ])
  })

  test('also without the prefix', async () => {
    const { status } = await server.request('/realms/acme/protocol/openid-connect/encrypt', {
      json: { field: 'dateOfBirth', value: 'x' },
      headers: { authorization: `Bearer ${alice}` },
    })
    expect(status).toBe(200)
  })

  test.for<[string, Record<string, string>]>([
    ['the empty string', { value: '' }],
    ['U+0000', { value: 'a\u0000b' }],
    ['letters beyond the BMP, combined ones, right to left', { value: '\u{1d11e}e\u0301\u00e9\u202eabc\ufeff' }],
    ['what looks like something else', { value: 'rk1:1:AAAA","x":"' }],
    ['no bytes', { valueBase64: '' }],
    ['bytes that are no text', { valueBase64: Buffer.from([0xff, 0xfe, 0x00, 0xc0]).toString('base64') }],
    ['4096 bytes', { value: '\u00e9'.repeat(2048) }],
  ])('row 59: %s comes back as it was, in the form in which it was given', async ([, given]) => {
    const { body } = await server.encrypt(alice, { field: 'dateOfBirth', ...given })
    const decrypted = await server.decrypt(alice, { field: 'dateOfBirth', ciphertext: body.ciphertext })
    expect(decrypted.body).toEqual({ field: 'dateOfBirth', ...given, keyVersion: 1, stale: false })
  })

  test('unknown members are ignored', async () => {
    const { status, body } = await server.encrypt(alice, {
      field: 'dateOfBirth',
      value: 'x',
      id: {},
      nonce: 'x',
      keyVersion: 9,
    })
    expect([status, body.keyVersion]).toEqual([200, 1])
    expect(body).not.toHaveProperty('id')
  })
})

describe('row 57: no token, or not a good one', () => {
  test.for(ENDPOINTS)('%s without one: 401 with a challenge', async (endpoint) => {
    const answer = await server[endpoint](undefined, { field: 'dateOfBirth', value: 'x', ciphertext: 'x' })
    expect(outcome(answer)).toEqual([401, 'invalid_token'])
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="acme"')
  })

  test.for(ENDPOINTS)('%s with a bad one: 401, before the body is parsed', async (endpoint) => {
    const bad = [
      'garbage',
      `${alice}x`,
      await resigned(alice, await realmKeyring(), {}),
      await resigned(alice, server.keyring, { payload: { typ: 'ID' } }),
    ]
    for (const token of bad) {
      const answer = await server[endpoint](token, '{not json')
      expect(outcome(answer)).toEqual([401, 'invalid_token'])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="acme", error="invalid_token"')
    }
  })

  test('a token in the query or in a form is none', async () => {
    const json = { field: 'dateOfBirth', value: 'x' }
    expect(outcome(await server.request(`encrypt?access_token=${alice}`, { json }))).toEqual([400, 'invalid_request'])
    expect((await server.request('encrypt', { form: { access_token: alice } })).status).toBe(415)
  })

  test('of a user who was disabled: 401', async () => {
    const frank = await server.addUser({ username: 'frank', subjectPinned: true }, 'alice-password-1')
    await server.grant('acme', frank.subject, HELD)
    const token = await server.tokenOf('frank')
    expect((await server.encrypt(token, { field: 'dateOfBirth', value: 'x' })).status).toBe(200)
    await upsertUser(server.database.pool, { ...frank, enabled: false })
    expect(outcome(await server.encrypt(token, { field: 'dateOfBirth', value: 'x' }))).toEqual([401, 'invalid_token'])
  })
})

describe('row 57: a role or a scope that is missing', () => {
  const REFUSED = { error: 'insufficient_scope', error_description: 'Not permitted for this field' }

  test('a caller without the role gets the same answer for every field, known or not', async () => {
    const carol = await server.tokenOf('carol')
    for (const token of [carol, alice]) {
      const fields =
        token === carol
          ? ['dateOfBirth', 'iban', 'unknown', '__proto__']
          : ['iban', 'unknown', 'dob', 'DATEOFBIRTH', '']
      for (const field of fields) {
        for (const endpoint of ENDPOINTS) {
          const answer = await server[endpoint](token, { field, value: 'x', ciphertext: 'rk1:1:AA' })
          expect([answer.status, answer.body], `${endpoint} ${field}`).toEqual([403, REFUSED])
          expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="acme", error="insufficient_scope"')
        }
      }
    }
  })

  test('a holder of the role who did not request it learns which scope to request', async () => {
    const answer = await server.encrypt(await server.tokenOf('alice', 'openid'), { field: 'dateOfBirth', value: 'x' })
    expect(outcome(answer)).toEqual([403, 'insufficient_scope'])
    expect(answer.body.error_description).toContain('_svc_dob.selfencrypt')
    expect(answer.headers.get('www-authenticate')).toBe(
      'Bearer realm="acme", error="insufficient_scope", scope="openid _svc_dob.selfencrypt"',
    )
  })

  test('openid is needed too', async () => {
    const token = await server.tokenOf('alice', '_svc_dob.selfencrypt')
    expect(outcome(await server.encrypt(token, { field: 'dateOfBirth', value: 'x' }))).toEqual([
      403,
      'insufficient_scope',
    ])
  })

  test('one role does not serve for the other, and rewrap needs both', async () => {
    const encrypting = await server.tokenOf('alice', 'openid _svc_dob.selfencrypt')
    const decrypting = await server.tokenOf('alice', 'openid _svc_dob.selfdecrypt')
    const ciphertext = await server.sealed('dateOfBirth', 'x')
    const item = { field: 'dateOfBirth', value: 'x', ciphertext }
    const statuses = async (token: string) =>
      Promise.all(ENDPOINTS.map(async (endpoint) => (await server[endpoint](token, item)).status))
    expect(await statuses(encrypting)).toEqual([200, 403, 403])
    expect(await statuses(decrypting)).toEqual([403, 200, 403])
    expect(await statuses(alice)).toEqual([200, 200, 200])
  })

  test('a role in the scope that is not in the token’s roles does not count, nor the reverse', async () => {
    const withoutRoles = await resigned(alice, server.keyring, { payload: { realm_access: { roles: [] } } })
    expect(outcome(await server.encrypt(withoutRoles, { field: 'dateOfBirth', value: 'x' }))).toEqual([
      403,
      'insufficient_scope',
    ])
    const withoutScope = await resigned(alice, server.keyring, { payload: { scope: 'openid' } })
    expect(outcome(await server.encrypt(withoutScope, { field: 'dateOfBirth', value: 'x' }))).toEqual([
      403,
      'insufficient_scope',
    ])
  })

  test('a role that is withdrawn, or expires, has no effect although the token carries it', async () => {
    const gina = await server.addUser({ username: 'gina', subjectPinned: true }, 'alice-password-1')
    await server.grant('acme', gina.subject, HELD)
    const token = await server.tokenOf('gina')
    const item = { field: 'dateOfBirth', value: 'x' }
    expect((await server.encrypt(token, item)).status).toBe(200)
    await server.grant('acme', gina.subject, HELD, new Date(Date.now() - 1))
    expect((await server.encrypt(token, item)).body).toEqual(REFUSED)
    await server.grant('acme', gina.subject, HELD)
    expect((await server.encrypt(token, item)).status).toBe(200)
    await server.grant('acme', gina.subject, [])
    expect((await server.encrypt(token, item)).body).toEqual(REFUSED)
  })

  test('a client without full scope has only the roles it is allowed', async () => {
    const row = await server.addClient({
      clientId: 'narrow',
      settings: { fullScopeAllowed: false, allowedRoles: ['_svc_dob.selfencrypt'] },
    })
    const token = await eventually(() => server.tokenOf('alice', undefined, 'narrow'))
    expect((await server.encrypt(token, { field: 'dateOfBirth', value: 'x' })).status).toBe(200)
    expect((await server.decrypt(token, { field: 'dateOfBirth', ciphertext: 'x' })).body).toEqual(REFUSED)
    // And only as long as it is allowed them.
    await server.addClient({ ...row, settings: { ...row.settings, allowedRoles: [] } })
    await eventually(async () => {
      expect((await server.encrypt(token, { field: 'dateOfBirth', value: 'x' })).body).toEqual(REFUSED)
    })
  })

  test('roles of the group everybody count', async () => {
    await server.grant('acme', 'everybody', HELD)
    const token = await server.tokenOf('carol')
    expect((await server.encrypt(token, { field: 'dateOfBirth', value: 'x' })).status).toBe(200)
    await server.grant('acme', 'everybody', [])
    expect((await server.encrypt(token, { field: 'dateOfBirth', value: 'x' })).body).toEqual(REFUSED)
  })
})

describe('row 58: bodies that are refused with 400', () => {
  test.for<[string, unknown]>([
    ['no JSON', '{"field":'],
    ['nothing', ''],
    ['null', null],
    ['a number', 7],
    ['a list', [{ field: 'dateOfBirth', value: 'x', ciphertext: 'x' }]],
    ['a member twice', '{"field":"iban","field":"dateOfBirth","value":"x","ciphertext":"x"}'],
    [
      'depth 10,000',
      `{"field":"dateOfBirth","value":"x","ciphertext":"x","y":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
    ],
    ['__proto__', '{"field":"dateOfBirth","value":"x","ciphertext":"x","__proto__":{"field":"iban"}}'],
    ['items and field', { field: 'dateOfBirth', value: 'x', ciphertext: 'x', items: [] }],
    ['no items', { items: [] }],
    ['items that are no list', { items: { field: 'dateOfBirth' } }],
    ['no field', { value: 'x', ciphertext: 'x' }],
    ['a field that is no text', { field: ['dateOfBirth'], value: 'x', ciphertext: 'x' }],
    ['neither value nor ciphertext', { field: 'dateOfBirth' }],
    ['null in their place', { field: 'dateOfBirth', value: null, ciphertext: null }],
    ['objects in their place', { field: 'dateOfBirth', value: {}, ciphertext: {} }],
    ['lone surrogates', '{"field":"dateOfBirth","value":"\\ud800","ciphertext":"\\udc00"}'],
  ])('%s', async ([, json]) => {
    for (const endpoint of ENDPOINTS) {
      expect(outcome(await server[endpoint](alice, json)), endpoint).toEqual([400, 'invalid_request'])
    }
  })

  test('both a value and bytes', async () => {
    const answer = await server.encrypt(alice, { field: 'dateOfBirth', value: 'x', valueBase64: 'eA==' })
    expect(outcome(answer)).toEqual([400, 'invalid_request'])
  })

  test('shape comes before permission', async () => {
    const carol = await server.tokenOf('carol')
    expect(outcome(await server.encrypt(carol, { field: 'dateOfBirth' }))).toEqual([400, 'invalid_request'])
  })

  test('bytes that are not UTF-8, and other types', async () => {
    const headers = { authorization: `Bearer ${alice}` }
    const body = Buffer.concat([
      Buffer.from('{"field":"dateOfBirth","value":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ])
    expect(
      (await server.request('encrypt', { body, headers: { ...headers, 'content-type': 'application/json' } })).status,
    ).toBe(400)
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json;charset=utf-16']) {
      expect(
        (await server.request('encrypt', { body: '{}', headers: { ...headers, 'content-type': type } })).status,
      ).toBe(415)
    }
    const gzip = { ...headers, 'content-type': 'application/json', 'content-encoding': 'gzip' }
    expect((await server.request('encrypt', { body: '{}', headers: gzip })).status).toBe(415)
  })

  test('GET: 405 and Allow', async () => {
    const { status, headers } = await server.request('decrypt', { headers: { authorization: `Bearer ${alice}` } })
    expect([status, headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
  })
})

describe('row 59: values that are too large', () => {
  test('for the field: 413, and the error names the limit', async () => {
    for (const given of [{ value: '\u00e9'.repeat(5) }, { valueBase64: Buffer.alloc(9).toString('base64') }]) {
      const answer = await server.encrypt(alice, { field: 'code', ...given })
      expect(outcome(answer)).toEqual([413, 'value_too_large'])
      expect(answer.body.error_description).toContain('8 bytes')
    }
    expect((await server.encrypt(alice, { field: 'code', value: '12345678' })).status).toBe(200)
    expect(
      (await server.encrypt(alice, { field: 'code', valueBase64: Buffer.alloc(8).toString('base64') })).status,
    ).toBe(200)
  })

  test('but the error for a forbidden field does not name its limit', async () => {
    const carol = await server.tokenOf('carol')
    expect(outcome(await server.encrypt(carol, { field: 'code', value: '123456789' }))).toEqual([
      403,
      'insufficient_scope',
    ])
  })

  test('the largest value', async () => {
    const value = 'x'.repeat(65_536)
    const { body } = await server.encrypt(alice, { field: 'diary', value })
    expect((await server.decrypt(alice, { field: 'diary', ciphertext: body.ciphertext })).body.value).toBe(value)
    expect(outcome(await server.encrypt(alice, { field: 'diary', value: `${value}x` }))).toEqual([
      413,
      'value_too_large',
    ])
  })

  test('for every body: 413', async () => {
    const answer = await server.encrypt(alice, { field: 'dateOfBirth', value: 'x'.repeat(1024 * 1024) })
    expect(outcome(answer)).toEqual([413, 'request_too_large'])
  })
})

describe('a field that is bound to its subject', () => {
  test('is read by that subject alone', async () => {
    const ciphertext = await server.sealed('diary', 'dear diary')
    const erin = await server.tokenOf('erin')
    expect(outcome(await server.decrypt(erin, { field: 'diary', ciphertext }))).toEqual([400, 'decryption_failed'])
    expect(outcome(await server.rewrap(erin, { field: 'diary', ciphertext }))).toEqual([400, 'decryption_failed'])
    expect((await server.decrypt(alice, { field: 'diary', ciphertext })).body.value).toBe('dear diary')
  })

  test('another field is readable by every permitted caller', async () => {
    const ciphertext = await server.sealed('dateOfBirth', '1990-01-31')
    const erin = await server.tokenOf('erin')
    expect((await server.decrypt(erin, { field: 'dateOfBirth', ciphertext })).body.value).toBe('1990-01-31')
  })

  test('takes a subject that is fixed', async () => {
    const bob = await server.tokenOf('bob')
    expect(outcome(await server.encrypt(bob, { field: 'diary', value: 'x' }))).toEqual([403, 'subject_not_pinned'])
    expect((await server.encrypt(bob, { field: 'dateOfBirth', value: 'x' })).status).toBe(200)
  })
})

test('row 54: pages of origins that the token’s client lists may read answers and refusals', async () => {
  await server.addClient({ clientId: 'page', settings: { webOrigins: ['https://page.example'] } })
  const token = await eventually(() => server.tokenOf('alice', undefined, 'page'))
  const allowed = async (origin: string, authorization: string, field: string): Promise<[number, string | null]> => {
    const { status, headers } = await server.request('encrypt', {
      json: { field, value: 'x' },
      headers: { authorization, origin },
    })
    return [status, headers.get('access-control-allow-origin')]
  }
  const page = 'https://page.example'
  expect(await allowed(page, `Bearer ${token}`, 'dateOfBirth')).toEqual([200, page])
  expect(await allowed(page, `Bearer ${token}`, 'iban')).toEqual([403, page])
  expect(await allowed('null', `Bearer ${token}`, 'dateOfBirth')).toEqual([200, null])
  // Only the token, which is not good, names a client.
  expect(await allowed(page, `Bearer ${token}x`, 'dateOfBirth')).toEqual([401, null])
})

test('row 67: neither value, ciphertext, token nor key is in the log', async () => {
  const value = 'canary-1990-01-31'
  const { body } = await server.encrypt(alice, { field: 'dateOfBirth', value })
  await server.decrypt(alice, { field: 'dateOfBirth', ciphertext: body.ciphertext })
  await server.decrypt(alice, { field: 'dateOfBirth', ciphertext: body.ciphertext.slice(0, -1) })
  await server.encrypt(`${alice}x`, { field: 'dateOfBirth', value })
  await server.encrypt(alice, `{"field":"dateOfBirth","value":"${value}"`)
  await server.encrypt(alice, { field: value, value })
  const log = server.log.join('')
  expect(log).toContain('"route":"encrypt"')
  const keys = [...server.keyring.encryption, ...server.keyring.refresh].map(({ key }) => key ?? '')
  for (const secret of [value, body.ciphertext.slice(10, 40), alice.split('.')[2]!, ...keys]) {
    expect(log).not.toContain(secret)
  }
  const metrics = await (await fetch(`${server.healthUrl}/metrics`)).text()
  for (const secret of [value, 'dateOfBirth', 'alice-subject']) expect(metrics).not.toContain(secret)
})
