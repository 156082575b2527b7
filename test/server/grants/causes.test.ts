import { afterAll, beforeAll, expect, test } from 'vitest'
import { endSession } from '../../../store/sessions/sessions.ts'
import { addAcme, ALICE, ALICE_PASSWORD, SHOP_SECRET, startServer } from '../../support/server.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'

let server: TestServer
let aheadMillis = 0
const now = (): Date => new Date(Date.now() + aheadMillis)

beforeAll(async () => {
  server = await startServer({
    now,
    prepare: async (world) => {
      await addAcme(world)
      await world.addClient({ clientId: 'other', type: 'Public' })
      await world.addUser({ username: 'bob', enabled: false }, ALICE_PASSWORD)
      await world.addUser({ username: 'carol' })
    },
  })
})
afterAll(() => server.stop())

/** The answer to a form, and the members that its log line has beyond it. */
async function refusalOf(form: Record<string, string | undefined>): Promise<{ answer: TestAnswer; line: object }> {
  const before = server.log.length
  const answer = await server.token(form)
  const lines = server.log.slice(before).join('').split('\n').filter(Boolean)
  const line = lines.map((text) => JSON.parse(text) as Record<string, unknown>).find(({ msg }) => msg === 'refused')
  return { answer, line: line ?? {} }
}

test.for([
  ['an unknown user', { username: 'dave' }, 'unknown user'],
  ['a wrong password', { password: 'wrong' }, 'wrong password'],
  ['a user without a password', { username: 'carol' }, 'user has no password'],
  ['a disabled user', { username: 'bob' }, 'user disabled'],
  ['an over-long name', { username: 'u'.repeat(256) }, 'over-long user name or password'],
] as const)('the log names the cause of a refused login: %s', async ([, form, cause]) => {
  const { answer, line } = await refusalOf({ ...ALICE, ...form })
  expect(line).toMatchObject({ error: 'invalid_grant', clientId: 'shop', cause })
  expect(JSON.stringify(answer.body)).not.toContain(cause)
  if ('username' in form && !['bob', 'carol'].includes(form.username)) {
    expect(JSON.stringify(line)).not.toContain(form.username)
  }
})

test('a locked user: the caller cannot tell, the log can', async () => {
  await server.addUser({ username: 'erin' }, ALICE_PASSWORD)
  for (let tries = 0; tries < 11; tries++) await server.token({ ...ALICE, username: 'erin', password: 'wrong' })
  const { answer, line } = await refusalOf({ ...ALICE, username: 'erin' })
  expect(answer.body.error_description).toBe('Invalid user credentials')
  expect(line).toMatchObject({ cause: 'user locked' })
})

async function login(): Promise<{ refresh_token: string; session_state: string }> {
  const { body } = await server.token(ALICE)
  return body
}

type Login = Awaited<ReturnType<typeof login>>
test.for<[string, (first: Login) => Promise<unknown> | void, Record<string, string>]>([
  ['not a refresh token of this realm', () => {}, { refresh_token: 'garbage' }],
  ['token of another client', () => {}, { client_id: 'other', client_secret: '' }],
  ['token expired', () => void (aheadMillis = 1801_000), {}],
  [
    'session ended',
    ({ session_state: sid }) =>
      endSession(server.database.pool, { realm: 'acme', sid, clientId: 'shop' }, 'logout', now()),
    {},
  ],
  [
    'no such session',
    ({ session_state: sid }) => server.database.pool.query('delete from sessions where sid = $1', [sid]),
    {},
  ],
  [
    'token used before',
    ({ refresh_token }) => server.token({ grant_type: 'refresh_token', refresh_token, client_secret: SHOP_SECRET }),
    {},
  ],
])('the log names the cause of a refused refresh: %s', async ([cause, prepare, form]) => {
  const first = await login()
  await prepare(first)
  const { answer, line } = await refusalOf({
    grant_type: 'refresh_token',
    refresh_token: first.refresh_token,
    ...form,
  }).finally(() => (aheadMillis = 0))
  expect(answer.status).toBe(400)
  expect(line).toMatchObject({ error: 'invalid_grant', cause })
  expect(JSON.stringify(answer.body)).not.toContain(cause)
  expect(JSON.stringify(line)).not.toContain(first.refresh_token)
  if (!('refresh_token' in form)) expect(line).toMatchObject({ sid: first.session_state })
})
