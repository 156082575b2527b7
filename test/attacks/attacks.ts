import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Target {
  port: number
  healthPort: number
  /** A good access token of the realm acme. */
  token: string
}

type Count = (what: string) => void

export interface Attack {
  connections: number
  /** One connection: opens it, uses it, and resolves when it is closed. Repeated until the end of the attack. */
  play(target: Target, count: Count, lane: number): Promise<void>
}

const OIDC = '/auth/realms/acme/protocol/openid-connect'
const MEBIBYTE = 1024 * 1024

function post(path: string, headers: string[]): string {
  return [`POST ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n')
}

/** A connection that counts its answers by status and ignores their content. */
function open(port: number, count: Count): Socket {
  const socket = connect({ host: '127.0.0.1', port })
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    for (const [, status = ''] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) count(status)
  })
  socket.on('error', () => {})
  socket.on('connect', () => count('connections'))
  return socket
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
}

/** Resolves with the next event of this name, or the end of the connection. */
async function next(socket: Socket, event: 'drain' | 'data'): Promise<void> {
  const ended = new AbortController()
  // An error is followed by `close`.
  const either = [event, 'close', 'error'].map((name) => once(socket, name, { signal: ended.signal }).catch(() => {}))
  await Promise.race(either)
  ended.abort()
}

/** Waits until the server takes more bytes. False when the connection has ended. */
async function write(socket: Socket, bytes: string | Buffer): Promise<boolean> {
  if (!socket.writable) return false
  if (!socket.write(bytes)) await next(socket, 'drain')
  return socket.writable
}

const ONE_BYTE_CHUNKS = Buffer.from('1\r\nx\r\n'.repeat(10_000))

/** A body of 1,000,000 chunks of one byte: 6 MB. */
async function sendOneByteChunks({ port }: Target, count: Count, headers: string[]): Promise<void> {
  const socket = open(port, count)
  socket.write(post(`${OIDC}/encrypt`, ['Content-Type: application/json', 'Transfer-Encoding: chunked', ...headers]))
  for (let part = 0; part < 100; part++) {
    if (!(await write(socket, ONE_BYTE_CHUNKS))) break
    count('10,000 chunks')
  }
  socket.destroy()
  await closed(socket)
}

/** A refused caller does not send the next megabyte at once: all of them would measure how fast this machine copies. */
const REFUSED_MILLIS = 5_000

/** A body that lacks its last byte, until the server closes the connection. */
async function sendUnfinished({ port }: Target, count: Count, path: string, headers: string[], bytes: number) {
  const socket = open(port, count)
  await write(socket, post(path, [...headers, `Content-Length: ${bytes}`]))
  await write(socket, Buffer.alloc(bytes - 1, 'x'))
  await closed(socket)
  await sleep(REFUSED_MILLIS)
}

/** A login with a wrong password by a public client; the next one follows its answer. */
async function floodLogins({ port }: Target, count: Count, realm: string, lane: number): Promise<void> {
  const socket = open(port, count)
  const form = `grant_type=password&client_id=app&username=user-${lane}&password=wrong`
  const path = `/auth/realms/${realm}/protocol/openid-connect/token`
  const type = 'Content-Type: application/x-www-form-urlencoded'
  while (await write(socket, post(path, [type, `Content-Length: ${form.length}`]) + form)) {
    await next(socket, 'data')
  }
  await closed(socket)
}

const JSON_TYPE = 'Content-Type: application/json'
const bearer = ({ token }: Target): string => `Authorization: Bearer ${token}`
const PIPELINED = Buffer.from(`GET ${OIDC}/certs HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(3_000))

/** By their rows of test/acceptance/rows.md. */
export const ATTACKS: Record<string, Attack> = {
  'row 129: one-byte chunks without a token': {
    connections: 8,
    play: (target, count) => sendOneByteChunks(target, count, []),
  },
  'row 129: one-byte chunks with a good token': {
    connections: 8,
    play: (target, count) => sendOneByteChunks(target, count, [bearer(target)]),
  },
  'row 129: unfinished bodies without a token': {
    connections: 450,
    play: (target, count) => sendUnfinished(target, count, `${OIDC}/encrypt`, [JSON_TYPE], MEBIBYTE),
  },
  'row 129: unfinished bodies with a good token': {
    connections: 450,
    play: (target, count) => sendUnfinished(target, count, `${OIDC}/encrypt`, [JSON_TYPE, bearer(target)], MEBIBYTE),
  },
  'row 129: unfinished forms': {
    connections: 450,
    play: (target, count) =>
      sendUnfinished(target, count, `${OIDC}/token`, ['Content-Type: application/x-www-form-urlencoded'], 65_536),
  },
  'row 131: logins with the largest memory of a hash': {
    connections: 50,
    play: (target, count, lane) => floodLogins(target, count, 'costly-memory', lane),
  },
  'row 131: logins with the most passes of a hash': {
    connections: 50,
    play: (target, count, lane) => floodLogins(target, count, 'costly-passes', lane),
  },
  'row 132: pipelined requests': {
    connections: 100,
    async play({ port }, count) {
      const socket = open(port, count)
      await write(socket, PIPELINED)
      await closed(socket)
    },
  },
  'row 132: malformed requests behind good ones': {
    connections: 20,
    async play({ port, token }, count) {
      const socket = connect({ host: '127.0.0.1', port })
      let received = ''
      socket.on('data', (bytes) => (received += bytes.toString('latin1')))
      socket.on('error', () => {})
      const body = JSON.stringify({ field: 'dateOfBirth', value: 'x' })
      const head = post(`${OIDC}/encrypt`, [
        JSON_TYPE,
        `Authorization: Bearer ${token}`,
        `Content-Length: ${body.length}`,
      ])
      socket.write(`${head}${body}GET / HTTP/9.9\r\n\r\n`)
      await closed(socket)
      const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status)
      count(statuses.join(' then '))
    },
  },
  'row 133: idle connections of the health port': {
    connections: 200,
    async play({ healthPort }, count, lane) {
      const socket = open(healthPort, count)
      // The server answers one request of a connection. Half of them send none.
      if (lane % 2 === 0) await write(socket, 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n')
      await closed(socket)
    },
  },
}
