import { fieldCall, FIELD_SCOPE, introspectCall, logIn, once, refreshCall, userinfoCall } from '../calls.ts'
import type { Call } from '../load.ts'
import { pair } from '../pair.ts'
import { atLeast, rounded } from '../report.ts'
import type { Figure } from '../report.ts'
import { FIELD, REALMS } from '../world.ts'
import type { BenchWorld } from '../world.ts'

const CONNECTIONS = 16

const floorCall = (path: string, body?: string): Call => ({
  method: body === undefined ? 'GET' : 'POST',
  path,
  headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
  ...(body !== undefined && { body }),
})

/** Refresh, compared with one committed UPDATE and the same signatures. */
export async function refreshRows(world: BenchWorld): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const algorithm of ['RS256', 'ES256'] as const) {
    const realm = REALMS[algorithm]
    const tokens = (await logIn(world.serverPort, realm, CONNECTIONS)).map(({ refresh_token = '' }) => refresh_token)
    const { ours, floor } = await pair(
      world,
      {
        port: world.serverPort,
        connections: CONNECTIONS,
        next: (connection) => refreshCall(realm, tokens[connection] ?? ''),
        onAnswer: (connection, body) =>
          (tokens[connection] = (JSON.parse(body) as { refresh_token: string }).refresh_token),
      },
      { port: world.floorPort, connections: CONNECTIONS, next: () => floorCall(`/update-${algorithm.toLowerCase()}`) },
    )
    figures.push(atLeast(`refresh, ${algorithm}`, ours, floor, 60, '/s'))
  }
  return figures
}

/** Introspection and userinfo, compared with one SELECT. */
export async function tokenRows(world: BenchWorld): Promise<Figure[]> {
  const realm = REALMS.ES256
  const tokens = (await logIn(world.serverPort, realm, CONNECTIONS)).map(({ access_token = '' }) => access_token)
  const rows = { introspect: introspectCall, userinfo: userinfoCall }
  const figures: Figure[] = []
  for (const [name, call] of Object.entries(rows)) {
    const calls = tokens.map((token) => call(realm, token))
    const { ours, floor } = await pair(
      world,
      { port: world.serverPort, connections: CONNECTIONS, next: (connection) => calls[connection] as Call },
      { port: world.floorPort, connections: CONNECTIONS, next: () => floorCall('/select') },
    )
    figures.push(atLeast(name, ours, floor, 50, '/s'))
  }
  return figures
}

/** Encrypt and decrypt, single and in batches of 100, compared with one SELECT and an echo of the same JSON. */
export async function fieldRows(world: BenchWorld): Promise<Figure[]> {
  const realm = REALMS.ES256
  const [{ access_token = '' } = {}] = await logIn(world.serverPort, realm, 1, FIELD_SCOPE)
  const plain = { field: FIELD.name, value: '1990-01-31' }
  const { ciphertext = '' } = (await once(world.serverPort, fieldCall(realm, 'encrypt', access_token, plain))).body
  const sealed = { field: FIELD.name, ciphertext }
  const figures: Figure[] = []
  for (const [operation, item] of [['encrypt', plain] as const, ['decrypt', sealed] as const]) {
    for (const size of [1, 100]) {
      const body = size === 1 ? item : { items: Array.from({ length: size }, () => item) }
      const call = fieldCall(realm, operation, access_token, body)
      const { ours, floor } = await pair(
        world,
        { port: world.serverPort, connections: CONNECTIONS, next: () => call },
        { port: world.floorPort, connections: CONNECTIONS, next: () => floorCall('/select-echo', call.body) },
      )
      if (size === 1) figures.push(atLeast(operation, ours, floor, 50, '/s'))
      else {
        figures.push({
          row: `${operation}, batches of ${size}`,
          measured: `${rounded(ours * size)} items/s`,
          floor: `${rounded(floor * size)} items/s`,
          ratio: ours / floor,
          wanted: '≥ 20000/s',
          holds: ours * size >= 20_000,
        })
      }
    }
  }
  return figures
}
