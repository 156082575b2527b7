import { createServer } from 'node:http'
import { KubeConfig } from '@kubernetes/client-node'
import { expect, onTestFinished, test } from 'vitest'
import { createApiClient } from '../../kubernetes/api_client.ts'
import { processClock } from '../../kubernetes/clock.ts'
import { configAccess } from '../../kubernetes/kubeconfig_access.ts'
import { listAll } from '../../kubernetes/list_all.ts'
import { freePort } from '../support/control_plane/child.ts'

/** A server with objects of these sizes, which answers lists page by page as an API server does. */
async function clientOf(sizes: readonly number[]) {
  const limits: number[] = []
  const server = createServer(({ url }, response) => {
    const query = new URL(url ?? '', 'http://x').searchParams
    const limit = Number(query.get('limit') ?? sizes.length)
    const start = Number(query.get('continue') ?? 0)
    limits.push(limit)
    const items = sizes.slice(start, start + limit).map((size, at) => ({
      metadata: { name: `user-${start + at}`, uid: String(start + at), annotations: { note: 'x'.repeat(size) } },
    }))
    const next = start + limit < sizes.length ? String(start + limit) : undefined
    response.end(JSON.stringify({ metadata: { resourceVersion: '7', continue: next }, items }))
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const config = new KubeConfig()
  config.loadFromClusterAndUser({ name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true }, { name: 'u' })
  const client = createApiClient({ access: configAccess(() => config), clock: processClock })
  onTestFinished(async () => {
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { client, limits }
}

test('objects so large that a page of them would exhaust the memory are listed in smaller pages', async () => {
  const sizes = Array.from({ length: 300 }, (_, at) => (at >= 100 && at < 140 ? 1_400_000 : 10))
  const { client, limits } = await clientOf(sizes)
  const { objects, resourceVersion } = await listAll(client, { path: '/apis/x/users' }, (object) => ({
    metadata: { ...object.metadata, annotations: {} },
  }))
  expect(resourceVersion).toBe('7')
  expect(objects.map(({ metadata }) => metadata.name)).toEqual(sizes.map((_, at) => `user-${at}`))
  expect(limits[0]).toBe(250)
  expect(Math.min(...limits)).toBeLessThanOrEqual(11)
})

test('small objects are listed in full pages', async () => {
  const { client, limits } = await clientOf(Array.from({ length: 600 }, () => 2_000))
  expect((await listAll(client, { path: '/apis/x/users' })).objects).toHaveLength(600)
  expect(limits).toEqual([250, 250, 250])
})
