import { createServer } from 'node:http'
import { KubeConfig } from '@kubernetes/client-node'
import { expect, onTestFinished, test } from 'vitest'
import { processClock } from '../../../../operator/clock.ts'
import { createApiClient } from '../../../../operator/source/cluster/api_client.ts'
import { watchOnce } from '../../../../operator/source/cluster/watch_stream.ts'
import { loggable } from '../../../../process/loggable.ts'
import { freePort } from '../../../support/control_plane/child.ts'

const SECRET = 'bm90LWZvci1sb2dz'

/** A client of something that answers everything with the same text. */
async function clientOf(answer: string) {
  const server = createServer((_, response) => response.end(answer))
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const config = new KubeConfig()
  config.loadFromClusterAndUser({ name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true }, { name: 'u' })
  const client = createApiClient({ connect: () => config, mayWrite: () => true, clock: processClock })
  onTestFinished(async () => {
    client.close()
    await new Promise((resolve) => server.close(resolve))
  })
  return client
}

test.each([SECRET, `{"data":{"password":${SECRET}}}`, `{"data":{"password":"${SECRET}"`])(
  'an answer that is no JSON is not quoted: %s',
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
