import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { AccessSource } from '../../kubernetes/access.ts'
import { processClock } from '../../kubernetes/clock.ts'
import { createApiClient } from '../../kubernetes/api_client.ts'
import { configAccess } from '../../kubernetes/kubeconfig_access.ts'
import { watchOnce } from '../../kubernetes/watch_stream.ts'
import { loggable } from '../../process/loggable.ts'
import { freePort } from '../support/control_plane/child.ts'
import { fakeClock } from '../support/fake_clock.ts'

const SECRET = 'bm90LWZvci1sb2dz'

/** A client of a server that gives the same answer to every request. */
async function clientOf(answer: string, configOf = configOfServer) {
  const seen: (string | undefined)[] = []
  const server = createServer(({ headers }, response) => {
    seen.push(headers.authorization)
    response.end(answer)
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const access = configAccess(() => configOf(`http://127.0.0.1:${port}`))
  const client = createApiClient({ access, clock: processClock })
  onTestFinished(async () => {
    client.close()
    await new Promise((resolve) => server.close(resolve))
  })
  return { ...client, seen }
}

function configOfServer(server: string): KubeConfig {
  const config = new KubeConfig()
  config.loadFromClusterAndUser({ name: 'c', server, skipTLSVerify: true }, { name: 'u' })
  return config
}

test.each([SECRET, `{"data":{"password":${SECRET}}}`, `{"data":{"password":"${SECRET}"`])(
  'the error about an answer that is not JSON does not quote it: %s',
  async (answer) => {
    const client = await clientOf(`${answer}\n`)
    const path = '/api/v1/namespaces/default/secrets/s'
    const watch = () =>
      watchOnce({
        client,
        request: { path },
        resourceVersion: '1',
        timeoutSeconds: 1,
        stallMillis: 5_000,
        clock: processClock,
        signal: AbortSignal.timeout(10_000),
        onOpen: () => {},
        onEvents: async () => {},
      })
    const calls = [() => client.object({ method: 'GET', path }), () => client.list({ method: 'GET', path }), watch]
    for (const call of calls) {
      const error: unknown = await call().catch((reason: unknown) => reason)
      expect(error).toMatchObject({ name: 'ApiError', message: expect.stringContaining('the answer is not JSON') })
      expect(JSON.stringify(loggable({ err: error }))).not.toContain(SECRET.slice(0, 6))
    }
  },
)

test('a token file that is being written leads to no anonymous call, and is read again by the next call', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-token-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const tokenFile = join(folder, 'token')
  const client = await clientOf('{"metadata":{"name":"s"}}', (server) => {
    const config = configOfServer(server)
    Object.assign(config.getCurrentUser() ?? {}, { authProvider: { name: 'tokenFile', config: { tokenFile } } })
    return config
  })
  const call = () => client.object({ method: 'GET', path: '/api/v1/namespaces/default/secrets/s' })
  for (const empty of ['', '\n']) {
    writeFileSync(tokenFile, empty)
    await expect(call()).rejects.toThrow(`credentials: the token file ${tokenFile} is empty`)
  }
  expect(client.seen).toEqual([])
  writeFileSync(tokenFile, 'one\n')
  await call()
  expect(client.seen).toEqual(['Bearer one'])
})

describe('the access is loaded again', () => {
  /** An HTTP server that accepts one token, and a client whose access reads `config` when it is loaded. */
  async function worldOf({ token }: { token: string }) {
    const seen: (string | undefined)[] = []
    const server = createServer(({ headers }, response) => {
      seen.push(headers.authorization)
      response.writeHead(headers.authorization === `Bearer ${token}` ? 200 : 401).end('{"metadata":{}}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
    const config = { url, token: 'old' }
    let loaded: typeof config | undefined
    const access: AccessSource = {
      async read() {
        loaded ??= { ...config }
        return { url: loaded.url, headers: { Authorization: `Bearer ${loaded.token}` }, connection: {} }
      },
      reload() {
        loaded = undefined
      },
    }
    const clock = fakeClock()
    const client = createApiClient({ access, clock })
    onTestFinished(async () => {
      client.close()
      await new Promise((resolve) => server.close(resolve))
    })
    return { config, url, clock, seen, call: () => client.object({ method: 'GET', path: '/api/v1/namespaces/a' }) }
  }

  test('after a 401, with one more try of the call, and at most once a second', async () => {
    const { config, clock, seen, call } = await worldOf({ token: 'new' })
    await expect(call()).rejects.toMatchObject({ status: 401 })
    config.token = 'new'
    await expect(call()).rejects.toMatchObject({ status: 401 })
    await clock.pass(1_001)
    await call()
    expect(seen).toEqual(['Bearer old', 'Bearer old', 'Bearer old', 'Bearer new'])
  })

  test('after a call without an answer, for the next one', async () => {
    const { config, url, clock, call } = await worldOf({ token: 'old' })
    config.url = `http://127.0.0.1:${await freePort()}`
    await expect(call()).rejects.toMatchObject({ status: 0 })
    config.url = url
    await expect(call()).rejects.toMatchObject({ status: 0 })
    await clock.pass(30_001)
    await expect(call()).rejects.toMatchObject({ status: 0 })
    await call()
  })
})

test('a write is refused before it is sent, a read is not', async () => {
  const client = createApiClient({
    access: configAccess(() => configOfServer('http://127.0.0.1:1')),
    clock: processClock,
    beforeWrite(call) {
      throw new Error(`refused: ${call}`)
    },
  })
  const path = '/api/v1/namespaces/a'
  await expect(client.object({ method: 'DELETE', path })).rejects.toThrow(`refused: DELETE ${path}`)
  await expect(client.object({ method: 'GET', path })).rejects.toMatchObject({ status: 0 })
})
