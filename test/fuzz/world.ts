import { recordBody } from '../support/canary.ts'
import { addFieldRows, HELD } from '../support/field_world.ts'
import { realmKeyring } from '../support/realm_keyring.ts'
import { ALICE_PASSWORD, SHOP_SECRET } from '../support/server.ts'
import { startServerProcess } from '../support/server_process.ts'
import type { ServerProcess } from '../support/server_process.ts'
import { isSoak } from '../support/soak.ts'
import type { TestWorld } from '../support/world.ts'
import { LEAST_KNOWN } from './http/drafts.ts'
import type { Known, Tokens } from './http/drafts.ts'

/** A server process whose limits on failures do not keep random requests from the code behind them. */
export function startFuzzedServer(): Promise<ServerProcess> {
  return startServerProcess({
    prepare,
    args: [
      '--failed-logins-per-address=0',
      '--failed-logins-per-client=0',
      '--failed-decrypts-per-subject=0',
      `--log-level=${isSoak ? 'warn' : 'debug'}`,
    ],
  })
}

async function prepare(world: TestWorld): Promise<void> {
  const noLocks = {
    enabled: false,
    maxFailures: 10,
    waitIncrementSeconds: 60,
    maxWaitSeconds: 900,
    failureResetSeconds: 43_200,
  }
  await addFieldRows(world, await realmKeyring(), { bruteForce: noLocks })
  await world.addClient({ clientId: 'disabled', enabled: false })
  await world.addRealm({ realm: 'other' })
  await world.addClient({ realm: 'other' }, SHOP_SECRET)
  await world.addUser({ realm: 'other' }, ALICE_PASSWORD)
  await world.addRealm({ realm: 'closed', enabled: false })
  await world.addRealm({ realm: 'keyless' }, null)
}

/** The start of what requests are made of. Rejects when a login fails, so it also shows that the server works. */
export async function firstKnown(url: string): Promise<Known> {
  const foreign = await login(url, 'other')
  const tokens = await Promise.all(Array.from({ length: LEAST_KNOWN }, () => login(url, 'acme')))
  const { field, ciphertext } = await post(
    `${url}/realms/acme/protocol/openid-connect/encrypt`,
    JSON.stringify({ field: 'dateOfBirth', value: '1990-04-01' }),
    { authorization: `Bearer ${tokens[0]?.access}`, 'content-type': 'application/json' },
  )
  return { tokens, encrypted: [{ field: field ?? '', ciphertext: ciphertext ?? '' }], foreign }
}

async function login(url: string, realm: string): Promise<Tokens> {
  const client = { client_id: 'shop', client_secret: SHOP_SECRET }
  const user = { grant_type: 'password', username: 'alice', password: ALICE_PASSWORD }
  const {
    access_token: access = '',
    refresh_token: refresh = '',
    id_token: id = '',
  } = await post(
    `${url}/realms/${realm}/protocol/openid-connect/token`,
    new URLSearchParams({ ...client, ...user, scope: ['openid', ...HELD].join(' ') }),
  )
  return { access, refresh, id }
}

async function post(
  url: string,
  body: string | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<Record<string, string>> {
  const response = await fetch(url, { method: 'POST', body, headers })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${text}`)
  const answer: Record<string, string> = JSON.parse(text)
  recordBody(answer)
  return answer
}
