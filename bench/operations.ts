import { fieldCall, FIELD_SCOPE, introspectCall, logIn, loginCall, once, refreshCall, userinfoCall } from './calls.ts'
import type { Call } from './load.ts'
import { FIELD, USERS } from './world.ts'

const BATCH = 100

/** One operation of the server, as `drive` sends it. */
export interface Operation {
  name: string
  next: (connection: number) => Call
  onAnswer: (connection: number, body: string) => void
}

/** Login, refresh, introspection, userinfo, encrypt and decrypt of one realm; encrypt and decrypt also in batches. */
export async function operations(port: number, realm: string, connections: number): Promise<Operation[]> {
  const sessions = await logIn(port, realm, connections, FIELD_SCOPE)
  const refreshTokens = sessions.map(({ refresh_token = '' }) => refresh_token)
  const [accessToken = ''] = sessions.map(({ access_token = '' }) => access_token)
  const value = { field: FIELD.name, value: '1990-01-31' }
  const { ciphertext = '' } = (await once(port, fieldCall(realm, 'encrypt', accessToken, value))).body
  const repeated = (name: string, call: Call): Operation => ({ name, next: () => call, onAnswer: () => undefined })
  const field = (operation: 'encrypt' | 'decrypt', item: object): Operation[] => [
    repeated(operation, fieldCall(realm, operation, accessToken, item)),
    repeated(
      `${operation}, batches of ${BATCH}`,
      fieldCall(realm, operation, accessToken, { items: Array.from({ length: BATCH }, () => item) }),
    ),
  ]
  let logins = 0
  return [
    {
      name: 'login',
      next: () => loginCall(realm, logins++ % USERS, { scope: 'openid' }),
      onAnswer: () => undefined,
    },
    {
      name: 'refresh',
      next: (connection) => refreshCall(realm, refreshTokens[connection] ?? ''),
      onAnswer: (connection, body) => {
        refreshTokens[connection] = (JSON.parse(body) as { refresh_token: string }).refresh_token
      },
    },
    repeated('introspect', introspectCall(realm, accessToken)),
    repeated('userinfo', userinfoCall(realm, accessToken)),
    ...field('encrypt', value),
    ...field('decrypt', { field: FIELD.name, ciphertext }),
  ]
}
