import { afterAll, beforeAll, expect, test } from 'vitest'
import { ALICE, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

test('a login and a refresh', async () => {
  const login = await server.token(ALICE)
  expect(login).toMatchObject({ status: 200 })
  const refreshed = await server.token({ grant_type: 'refresh_token', refresh_token: login.body.refresh_token })
  expect(refreshed).toMatchObject({ status: 200 })
})
