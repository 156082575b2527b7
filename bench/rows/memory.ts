import { fieldCall, FIELD_SCOPE, introspectCall, logIn, loginCall, once, refreshCall, userinfoCall } from '../calls.ts'
import { drive } from '../load.ts'
import type { Call } from '../load.ts'
import { plain } from '../report.ts'
import type { Figure } from '../report.ts'
import { end, FIELD, peakMegabytes, REALMS, residentMegabytes, startServer, USERS } from '../world.ts'
import type { BenchWorld } from '../world.ts'

const CONNECTIONS = 8
const BATCH = 100

/** The memory of one server after, and at the peak of, every operation in turn, each for one round. */
export async function memoryRows(world: BenchWorld): Promise<Figure[]> {
  const { child, port } = await startServer({
    databaseUrl: world.databaseUrl,
    keyringDir: `${world.directory}/keyrings`,
    cache: `${world.directory}/cache`,
  })
  try {
    for (const realm of Object.values(REALMS)) {
      for (const { next, onAnswer } of await operations(port, realm)) {
        await drive({ port, connections: CONNECTIONS, duration: world.duration, wantedStatus: 200, next, onAnswer })
      }
    }
    const pid = child.pid ?? 0
    const peak = peakMegabytes(pid)
    return [
      plain('server after all operations, resident', `${residentMegabytes(pid).toFixed(0)} MB`, '', true),
      plain('server at its peak under all operations', `${peak.toFixed(0)} MB`, '< 250 MB', peak < 250),
    ]
  } finally {
    await end(child)
  }
}

interface Operation {
  next: (connection: number) => Call
  onAnswer: (connection: number, body: string) => void
}

/** Login, refresh, introspection, userinfo, encrypt and decrypt, the last two also in batches. */
async function operations(port: number, realm: string): Promise<Operation[]> {
  const sessions = await logIn(port, realm, CONNECTIONS, FIELD_SCOPE)
  const refreshTokens = sessions.map(({ refresh_token = '' }) => refresh_token)
  const [accessToken = ''] = sessions.map(({ access_token }) => access_token)
  const value = { field: FIELD.name, value: '1990-01-31' }
  const { ciphertext = '' } = (await once(port, fieldCall(realm, 'encrypt', accessToken, value))).body
  const repeated = (call: Call): Operation => ({ next: () => call, onAnswer: () => undefined })
  const batch = (item: object) => ({ items: Array.from({ length: BATCH }, () => item) })
  let logins = 0
  return [
    { next: () => loginCall(realm, logins++ % USERS, { scope: 'openid' }), onAnswer: () => undefined },
    {
      next: (connection) => refreshCall(realm, refreshTokens[connection] ?? ''),
      onAnswer: (connection, body) => {
        refreshTokens[connection] = (JSON.parse(body) as { refresh_token: string }).refresh_token
      },
    },
    repeated(introspectCall(realm, accessToken)),
    repeated(userinfoCall(realm, accessToken)),
    ...[value, batch(value)].map((body) => repeated(fieldCall(realm, 'encrypt', accessToken, body))),
    ...[{ field: FIELD.name, ciphertext }, batch({ field: FIELD.name, ciphertext })].map((body) =>
      repeated(fieldCall(realm, 'decrypt', accessToken, body)),
    ),
  ]
}
