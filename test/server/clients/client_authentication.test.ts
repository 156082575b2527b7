import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteClient, hashClientSecret } from '../../../store/clients.ts'
import { noteChange } from '../../../store/changes.ts'
import { addAcme, ALICE, SHOP_SECRET, startServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const ODD_SECRET = 'p%41ss+w rd:%zz/ä'

/** For what comes a little later, on a machine that may be busy. */
const SOON = { timeout: 120_000, interval: 20 }

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    prepare: async (world) => {
      await addAcme(world)
      await world.addClient({ clientId: 'odd.client-1' }, ODD_SECRET)
      await world.addClient({ clientId: 'off', enabled: false }, 'off-secret-0123456789')
      await world.addRealm({ realm: 'other' })
      await world.addClient({ realm: 'other', clientId: 'elsewhere' }, 'elsewhere-secret-1234')
      const previous = hashClientSecret('the-previous-secret-1')
      const previousRow = { previousSecretSalt: previous.salt, previousSecretHash: previous.hash }
      const [future, past] = [1, -1].map((sign) => new Date(Date.now() + sign * 60_000))
      await world.addClient(
        { clientId: 'turning', ...previousRow, previousValidUntil: future ?? null },
        'the-new-secret-012345',
      )
      await world.addClient(
        { clientId: 'turned', ...previousRow, previousValidUntil: past ?? null },
        'the-new-secret-012345',
      )
    },
  })
})
afterAll(() => server.stop())

const basic = (credentials: string | Buffer): { Authorization: string } => ({
  Authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
})
const encoded = (id: string, secret: string): string =>
  [id, secret].map((part) => new URLSearchParams({ '': part }).toString().slice(1)).join(':')

const ask = (form: Record<string, string | undefined>, headers: Record<string, string> = {}) =>
  server.request('token', { form: { ...ALICE, ...form }, headers })

const invalidClient = {
  error: 'invalid_client',
  error_description: 'Invalid client or Invalid client credentials',
}

describe('a client is known', () => {
  test.for<[string, Record<string, string>, Record<string, string>]>([
    ['by the form', { client_id: 'shop', client_secret: SHOP_SECRET }, {}],
    ['by Basic', {}, basic(`shop:${SHOP_SECRET}`)],
    [
      'by Basic in another case',
      {},
      { Authorization: `bASIC ${Buffer.from(`shop:${SHOP_SECRET}`).toString('base64')}` },
    ],
    ['by Basic without padding', {}, { Authorization: basic(`shop:${SHOP_SECRET}`).Authorization.replace(/=+$/, '') }],
    ['by Basic whose parts are form-encoded', {}, basic(encoded('odd.client-1', ODD_SECRET))],
    ['by Basic whose parts are raw', {}, basic(`odd.client-1:${ODD_SECRET}`)],
    [
      'by Basic, with the same in the form',
      { client_id: 'shop', client_secret: SHOP_SECRET },
      basic(`shop:${SHOP_SECRET}`),
    ],
    [
      'by form-encoded Basic, with the plain secret in the form',
      { client_id: 'odd.client-1', client_secret: ODD_SECRET },
      basic(encoded('odd.client-1', ODD_SECRET)),
    ],
    ['by Basic with a percent-encoded id', {}, basic(`%73hop:${SHOP_SECRET}`)],
    ['as a public client, which has no secret', { client_id: 'app' }, {}],
    ['as a public client by Basic with an empty secret', {}, basic('app:')],
    [
      'in the form, with an Authorization header of another scheme',
      { client_id: 'app' },
      { Authorization: 'Bearer x' },
    ],
    ['by the secret before the last rotation, while it is valid', {}, basic('turning:the-previous-secret-1')],
    ['by the secret of the last rotation', {}, basic('turning:the-new-secret-012345')],
  ])('%s', async ([, form, headers]) => {
    expect(await ask(form, headers)).toMatchObject({ status: 200 })
  })
})

describe('row 13, 14: the same answer for every cause', () => {
  test.for<[string, Record<string, string>, string]>([
    ['no client at all', {}, 'no client id'],
    ['an unknown client', { client_id: 'unknown', client_secret: 'x'.repeat(20) }, 'unknown client'],
    ['a wrong secret', { client_id: 'shop', client_secret: 'x'.repeat(20) }, 'wrong client secret'],
    ['a confidential client without a secret', { client_id: 'shop' }, 'no client secret'],
    [
      'a public client with a secret',
      { client_id: 'app', client_secret: 'x'.repeat(20) },
      'public client with a secret',
    ],
    ['a disabled client', { client_id: 'off', client_secret: 'off-secret-0123456789' }, 'client disabled'],
    ['a client of another realm', { client_id: 'elsewhere', client_secret: 'elsewhere-secret-1234' }, 'unknown client'],
    ['a client id that would like to be SQL', { client_id: "' or 1=1--", client_secret: 'x' }, 'unknown client'],
    [
      'a client id named as a member of every object',
      { client_id: 'constructor', client_secret: 'x' },
      'unknown client',
    ],
    ['a client id of 10 KB', { client_id: 'x'.repeat(10_240) }, 'unknown client'],
    [
      'a secret whose time is over',
      { client_id: 'turned', client_secret: 'the-previous-secret-1' },
      'expired client secret',
    ],
  ])('%s', async ([, form, cause]) => {
    const answer = await ask(form)
    expect(answer).toMatchObject({ status: 401, body: invalidClient })
    expect(answer.headers.get('www-authenticate')).toBeNull()
    const [line] = server.log.slice(-1)
    expect(JSON.parse(line ?? '')).toMatchObject({ status: 401, realm: 'acme', cause })
    expect(line).not.toContain('x'.repeat(20))
    expect(line).not.toContain('1=1')
  })

  test('the log names a known client, never an unknown one', async () => {
    const clientIdOf = async (client_id: string) => {
      await ask({ client_id, client_secret: 'wrong-secret' })
      return JSON.parse(server.log.at(-1) ?? '').clientId
    }
    expect(await clientIdOf('shop')).toBe('shop')
    expect(await clientIdOf('mistyped')).toBeUndefined()
  })

  test('a client that was deleted', async () => {
    const { resourceUid } = await server.addClient({ clientId: 'leaving' }, 'leaving-secret-1234567')
    const form = { client_id: 'leaving', client_secret: 'leaving-secret-1234567' }
    await expect.poll(() => ask(form), SOON).toMatchObject({ status: 200 })
    await deleteClient(server.database.pool, resourceUid)
    await noteChange(server.database.pool, { realm: 'acme', kind: 'client', key: 'leaving' }, new Date())
    await expect.poll(() => ask(form), SOON).toMatchObject({ status: 401, body: invalidClient })
  })
})

describe('row 11: a Basic header that names no client', () => {
  test.for<[string, string]>([
    ['nothing behind the scheme', 'Basic'],
    ['no colon', basic('shop').Authorization],
    ['no id', basic(`:${SHOP_SECRET}`).Authorization],
    ['not base64', 'Basic !!!!'],
    ['two tokens', `${basic(`shop:${SHOP_SECRET}`).Authorization} x`],
    ['base64 with bits left over', 'Basic c2hvcDp='],
    ['NUL', basic(`shop:${SHOP_SECRET}\0`).Authorization],
    ['bytes that are no UTF-8', basic(Buffer.from([0x73, 0x3a, 0xff, 0xfe])).Authorization],
    ['a wrong secret', basic('shop:wrong').Authorization],
    ['a secret that is not ASCII', basic('shop:gehëim').Authorization],
    ['a public client with a secret', basic('app:secret').Authorization],
    ['an unknown client', basic('unknown:secret').Authorization],
  ])('%s', async ([, Authorization]) => {
    const answer = await ask({}, { Authorization })
    expect(answer).toMatchObject({ status: 401, body: invalidClient })
    expect(answer.headers.get('www-authenticate')).toBe('Basic realm="acme"')
  })
})

describe('row 12: header and form that differ', () => {
  test.for<[string, Record<string, string>]>([
    ['in the client', { client_id: 'app' }],
    ['in the secret', { client_id: 'shop', client_secret: 'another-secret-0123456' }],
  ])('%s', async ([, form]) => {
    expect(await ask(form, basic(`shop:${SHOP_SECRET}`))).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: 'The client credentials of header and form differ' },
    })
  })
})
