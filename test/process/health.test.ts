import { connect, createServer } from 'node:net'
import { pino } from 'pino'
import { Counter, Gauge, Registry } from 'prom-client'
import { afterEach, expect, test } from 'vitest'
import { serveHealth } from '../../process/health.ts'
import type { Health, ReadinessCheck } from '../../process/health.ts'
import { listen, ListenError } from '../../process/listen.ts'
import { PlainError } from '../../process/plain_error.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()))
})

async function start(
  checks: ReadinessCheck[],
  { registry = new Registry(), log = pino({ level: 'silent' }) } = {},
): Promise<Health & { base: string }> {
  const at = { host: '127.0.0.1', port: 0, flag: '--health-listen-port' }
  const health = await serveHealth({ ...at, checks, registry, log, checkTimeoutMillis: 100 })
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

const FAILED = 'failed; the log of this process has the cause'

test.for<[string, () => Promise<string | undefined>, string]>([
  ['reports a problem', async () => 'schema 3 is behind', 'schema 3 is behind'],
  ['throws', () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:5432, user "realmkeeper"')), FAILED],
  ['throws something secret', () => Promise.reject(new Error('postgres://a:canary@b')), FAILED],
  ['throws what may be shown', () => Promise.reject(new PlainError('the schema is behind')), 'the schema is behind'],
  ['hangs', () => new Promise(() => {}), 'no answer within 100 ms'],
])('/readyz is 503 and names the check that %s', async ([, check, shown]) => {
  const { base } = await start([passing, { name: 'schema', check }])
  const response = await fetch(`${base}/readyz`)
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ ready: false, checks: { postgres: 'ok', schema: shown } })
})

test('what callers do not read of a failed check is logged once for each cause', async () => {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  let cause: string | undefined = 'connect ECONNREFUSED 10.0.0.5:5432'
  const check = async () => {
    if (cause !== undefined) throw new Error(cause)
    return undefined
  }
  const { readiness } = await start([{ name: 'postgres', check }], { log })
  await readiness()
  await readiness()
  cause = 'password authentication failed'
  await readiness()
  cause = undefined
  expect((await readiness()).ready).toBe(true)
  cause = 'connect ECONNREFUSED 10.0.0.5:5432'
  await readiness()
  expect(lines.map((line) => JSON.parse(line).err.message)).toEqual([
    'connect ECONNREFUSED 10.0.0.5:5432',
    'password authentication failed',
    'connect ECONNREFUSED 10.0.0.5:5432',
  ])
})

test('row 133: probes are answered while other callers hold hundreds of connections', async () => {
  const { base, port } = await start([passing])
  const held = Array.from({ length: 400 }, () => connect({ host: '127.0.0.1', port }))
  for (const socket of held) {
    socket.on('error', () => {})
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\nGET /li')
  }
  for (let probe = 0; probe < 50; probe++) {
    const response = await fetch(`${base}/livez`)
    expect(response.status).toBe(200)
    expect(response.headers.get('connection')).toBe('close')
  }
  for (const socket of held) socket.destroy()
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
  const { base } = await start([passing], { registry })
  expect(await (await fetch(`${base}/metrics`)).text()).toContain('logins_total 3')
})

test('/metrics is collected for a caller who asks seldom, and not for each of many', async () => {
  let collected = 0
  const registry = new Registry()
  const collect = async () => {
    collected += 1
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  registry.registerMetric(new Gauge({ name: 'resources', help: 'Resources', registers: [], collect }))
  const { base } = await start([passing], { registry })
  await Promise.all(Array.from({ length: 20 }, () => fetch(`${base}/metrics`)))
  expect(collected).toBe(1)
  expect(await (await fetch(`${base}/metrics`)).text()).toContain('resources 0')
  expect(collected).toBe(2)
  for (let request = 0; request < 20; request++) await fetch(`${base}/metrics`)
  expect(collected).toBeLessThan(10)
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
