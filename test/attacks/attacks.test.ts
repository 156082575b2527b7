import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordSecrets } from '../support/canary.ts'
import { addFieldRows, HELD } from '../support/field_world.ts'
import { realmKeyring } from '../support/realm_keyring.ts'
import { realmRow } from '../support/rows.ts'
import { ALICE_PASSWORD, SHOP_SECRET } from '../support/server.ts'
import { startServerProcess } from '../support/server_process.ts'
import type { ServerProcess } from '../support/server_process.ts'
import type { TestWorld } from '../support/world.ts'
import { ATTACKS } from './attacks.ts'
import type { Target } from './attacks.ts'
import type { Caller } from './callers.ts'
import { expectToWithstand, probesOf } from './measure.ts'

// What callers without rights can do to a server with the memory of the chart, see docs/threat_model.md.

describe('a server under attack', () => {
  let server: ServerProcess
  let target: Target
  let callers: Caller[]
  beforeAll(async () => {
    // Attackers have many addresses.
    server = await startServerProcess({ prepare, args: ['--failed-logins-per-address=0', '--log-level=error'] })
    const token = await tokenOf(server.url)
    target = { port: Number(new URL(server.url).port), healthPort: Number(new URL(server.part.healthUrl).port), token }
    callers = [...callersOf(server.url, token), ...probesOf(server.part)]
  })
  afterAll(() => server?.stop())

  test.for(Object.keys(ATTACKS))('%s', async (attack) => {
    const mostMillis = attack.includes('logins') ? 2_000 : 1_000
    const done = await expectToWithstand({ attack, target, parts: [server.part], callers, mostMillis })
    expect(Object.keys(done)).not.toEqual([])
    if (attack.includes('malformed')) expect(Object.keys(done)).toEqual(['200 then 400'])
  })
})

/** The most work of a hash that the API accepts, with the most memory and with the most passes. */
async function prepare(world: TestWorld): Promise<void> {
  // The token of the callers lasts until the end.
  await addFieldRows(world, await realmKeyring(), {
    tokens: { ...realmRow().tokens, accessTokenLifetimeSeconds: 86_400 },
  })
  for (const [realm, passwordHashing] of Object.entries({
    'costly-memory': { memoryKiB: 65_536, iterations: 8, parallelism: 8 },
    'costly-passes': { memoryKiB: 8_192, iterations: 64, parallelism: 8 },
  })) {
    await world.addRealm({ realm, passwordHashing })
    await world.addClient({ realm, clientId: 'app' })
  }
}

function formOf(form: Record<string, string>): { body: string; headers: Record<string, string> } {
  return {
    body: new URLSearchParams({ client_id: 'shop', client_secret: SHOP_SECRET, ...form }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }
}

const SCOPE = ['openid', ...HELD].join(' ')
const LOGIN = { grant_type: 'password', username: 'alice', password: ALICE_PASSWORD, scope: SCOPE }

async function tokenOf(url: string): Promise<string> {
  const response = await fetch(`${url}/realms/acme/protocol/openid-connect/token`, { method: 'POST', ...formOf(LOGIN) })
  const { access_token: token }: { access_token: string } = JSON.parse(await response.text())
  recordSecrets(token)
  return token
}

/** Callers of the realm acme with good credentials. */
function callersOf(url: string, token: string): Caller[] {
  const oidc = `${url}/realms/acme/protocol/openid-connect`
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const body = '{"field":"dateOfBirth","value":"x"}'
  return [
    { name: 'login', url: `${oidc}/token`, pauseMillis: 50, ...formOf(LOGIN) },
    { name: 'introspect', url: `${oidc}/token/introspect`, pauseMillis: 20, ...formOf({ token }) },
    { name: 'encrypt', url: `${oidc}/encrypt`, pauseMillis: 20, body, headers },
  ]
}
