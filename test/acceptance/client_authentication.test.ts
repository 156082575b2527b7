import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addAcme, ALICE, SHOP_SECRET, startServer } from '../support/server.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'

// Four endpoints ask who calls, and all of them in one way.

const ODD_SECRET = 'a secret+with%41 :all/of=it&ä'
let server: TestServer
beforeAll(async () => {
  server = await startServer({
    prepare: async (world) => {
      await addAcme(world)
      await world.addClient({ clientId: 'odd' }, ODD_SECRET)
      await world.addClient({ clientId: 'off', enabled: false }, 'off-secret-0123456789')
    },
  })
})
afterAll(() => server?.stop())

/** A request that succeeds for every authenticated client. */
const ENDPOINTS: [string, Record<string, string>, number][] = [
  ['token', ALICE, 200],
  ['token/introspect', { token: 'garbage' }, 200],
  ['revoke', { token: 'garbage' }, 200],
  // A foreign refresh token is refused after the client is authenticated.
  ['logout', { refresh_token: 'garbage' }, 400],
]
const basic = (credentials: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
})
const encoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

describe.each(ENDPOINTS)('rows 11 to 14 and 36: %s', (path, form, known) => {
  const ask = (credentials: Record<string, string>, headers: Record<string, string> = {}): Promise<TestAnswer> =>
    server.request(path, { form: { ...form, ...credentials }, headers })

  test('knows a confidential client by the form, by Basic, form-encoded and raw, and by both when they agree', async () => {
    const inForm = { client_id: 'odd', client_secret: ODD_SECRET }
    const answers = [
      await ask({ client_id: 'shop', client_secret: SHOP_SECRET }),
      await ask({}, basic(`shop:${SHOP_SECRET}`)),
      await ask({}, basic(`odd:${ODD_SECRET}`)),
      await ask({}, basic(`odd:${encoded(ODD_SECRET)}`)),
      await ask(inForm, basic(`odd:${ODD_SECRET}`)),
      await ask(inForm, basic(`odd:${encoded(ODD_SECRET)}`)),
      await ask({ client_id: 'odd' }, basic(`odd:${ODD_SECRET}`)),
    ]
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => known))
    for (const { body } of answers) if (known === 400) expect(body.error).toBe('invalid_grant')
  })

  test('answers the same 401 for every cause, with a challenge only to Basic', async () => {
    const wrong: [Record<string, string>, Record<string, string>][] = [
      [{}, {}],
      [{ client_id: 'shop' }, {}],
      [{ client_id: 'shop', client_secret: 'wrong-secret-0123456' }, {}],
      [{ client_id: 'unknown', client_secret: SHOP_SECRET }, {}],
      [{ client_id: 'off', client_secret: 'off-secret-0123456789' }, {}],
      [{ client_id: 'app', client_secret: 'app-secret-0123456789' }, {}],
      [{}, basic('shop:wrong-secret-0123456')],
      [{}, basic('unknown:x')],
      [{}, basic('app:x')],
      [{}, basic('shop')],
      [{}, { authorization: 'Basic !' }],
    ]
    for (const [credentials, headers] of wrong) {
      const answer = await ask(credentials, headers)
      expect([answer.status, answer.body], JSON.stringify([credentials, headers])).toEqual([
        401,
        { error: 'invalid_client', error_description: 'Invalid client or Invalid client credentials' },
      ])
      const challenge = headers.authorization === undefined ? null : 'Basic realm="acme"'
      expect(answer.headers.get('www-authenticate')).toBe(challenge)
    }
  })

  test('refuses a header and a form that differ', async () => {
    for (const credentials of [{ client_id: 'app' }, { client_id: 'shop', client_secret: 'another-secret-0123' }]) {
      expect(await ask(credentials, basic(`shop:${SHOP_SECRET}`))).toMatchObject({
        status: 400,
        body: { error: 'invalid_request', error_description: 'The client credentials of header and form differ' },
      })
    }
  })

  test('takes no credentials from the query', async () => {
    const query = new URLSearchParams({ client_id: 'shop', client_secret: SHOP_SECRET }).toString()
    expect(await server.request(`${path}?${query}`, { form })).toMatchObject({ status: 401 })
  })

  test('accepts a public client by its client_id alone, except for introspection', async () => {
    const answer = await ask({ client_id: 'app' })
    if (path === 'token/introspect') {
      expect([answer.status, answer.body]).toEqual([
        403,
        { error: 'invalid_request', error_description: 'Client not allowed.' },
      ])
    } else expect(answer.status).toBe(known)
  })
})
