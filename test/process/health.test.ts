import { createServer } from 'node:net'
import { Counter, Registry } from 'prom-client'
import { afterEach, expect, test } from 'vitest'
import { serveHealth } from '../../process/health.ts'
import type { Health, ReadinessCheck } from '../../process/health.ts'
import { listen, ListenError } from '../../process/listen.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()))
})

async function start(checks: ReadinessCheck[], registry = new Registry()): Promise<Health & { base: string }> {
  const at = { host: '127.0.0.1', port: 0, flag: '--health-listen-port' }
  const health = await serveHealth({ ...at, checks, registry, checkTimeoutMillis: 100 })
  open.push(health)
  return { ...health, base: `http://127.0.0.1:${health.port}` }
}

const passing: ReadinessCheck = { name: 'postgres', check: async () => undefined }

test('/livez is 200 while the process runs, also when a check fails', async () => {
  const { base } = await start([{ name: 'postgres', check: async () => 'away' }])
  expect((await fetch(`${base}/livez`)).status).toBe(200)
})

test('/readyz is 200 when every check passes', async () => {
  const { base } = await start([passing])
  const response = await fetch(`${base}/readyz`)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ ready: true, checks: { postgres: 'ok' } })
})

test.for<[string, () => Promise<string | undefined>, string]>([
  ['reports a problem', async () => 'schema 3 is behind', 'schema 3 is behind'],
  ['throws', () => Promise.reject(new Error('connect ECONNREFUSED')), 'connect ECONNREFUSED'],
  ['throws something secret', () => Promise.reject(new Error('postgres://a:canary@b')), 'postgres://[redacted]@b'],
  ['hangs', () => new Promise(() => {}), 'no answer within 100 ms'],
])('/readyz is 503 and names the check that %s', async ([, check, shown]) => {
  const { base } = await start([passing, { name: 'schema', check }])
  const response = await fetch(`${base}/readyz`)
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ ready: false, checks: { postgres: 'ok', schema: shown } })
})

test('concurrent probes share one run of the checks', async () => {
  let runs = 0
  const health = await start([
    {
      name: 'slow',
      check: async () => {
        runs++
        await new Promise((resolve) => setTimeout(resolve, 20))
        return undefined
      },
    },
  ])
  await Promise.all(Array.from({ length: 20 }, () => health.readiness()))
  expect(runs).toBe(1)
})

test('while draining it is alive and not ready', async () => {
  const health = await start([passing])
  health.drain()
  const response = await fetch(`${health.base}/readyz`)
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ ready: false, checks: { process: 'shutting down' } })
  expect((await fetch(`${health.base}/livez`)).status).toBe(200)
})

test('/metrics shows the registry', async () => {
  const registry = new Registry()
  new Counter({ name: 'logins_total', help: 'Logins', registers: [registry] }).inc(3)
  const { base } = await start([passing], registry)
  expect(await (await fetch(`${base}/metrics`)).text()).toContain('logins_total 3')
})

test.for([
  ['GET', '/', 404],
  ['GET', '/__proto__', 404],
  ['GET', '/livez/', 404],
  ['POST', '/livez', 405],
  ['HEAD', '/readyz', 200],
  ['GET', '/readyz?verbose=1', 200],
] as const)('%s %s answers %i', async ([method, path, status]) => {
  const { base } = await start([passing])
  expect((await fetch(base + path, { method })).status).toBe(status)
})

test('the error for a port in use names the flag that changes it', async () => {
  const occupant = createServer()
  const at = { host: '127.0.0.1', flag: '--health-listen-port' }
  const port = await listen(occupant, { ...at, port: 0 })
  open.push({ close: () => new Promise((resolve) => occupant.close(() => resolve())) })
  const refused = listen(createServer(), { ...at, port })
  await expect(refused).rejects.toThrow(ListenError)
  await expect(refused).rejects.toThrow(
    `port ${port} on 127.0.0.1 is in use: end the process that listens there, or choose another port with --health-listen-port`,
  )
})
