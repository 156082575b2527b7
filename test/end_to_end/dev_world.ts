import { spawn } from 'node:child_process'
import { cpSync, createWriteStream, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { logFile, recordBody, recordLogFile, recordSecrets, recordStateSecrets } from '../support/canary.ts'
import { processes } from '../support/processes.ts'
import { devPostgres } from './dev_postgres.ts'
import type { DevPostgres } from './dev_postgres.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COMMAND = `${ROOT}cli/realmkeeper.ts`

export interface Answer {
  status: number
  // The members of JSON answers that tests read.
  body: Record<string, unknown> & { access_token?: string; refresh_token?: string; ciphertext?: string }
}

/** `realmkeeper dev` on a copy of the quickstart, with real processes, files and HTTP. */
export interface DevWorld {
  dir: string
  stateDir: string
  url: string
  /** The output of the processes so far. */
  output(): string
  login(user: string, form?: Record<string, string>): Promise<Answer>
  post(path: string, form: Record<string, string>): Promise<Answer>
  field(operation: 'encrypt' | 'decrypt' | 'rewrap', token: string, body: object): Promise<Answer>
  introspect(token: string): Promise<Answer>
  /** Replaces a manifest file by a rename, as editors do. */
  edit(file: string, change: (text: string) => string): void
  /** Runs the command line with `--dir` and `--state-dir` of this world. */
  cli(...args: string[]): Promise<{ code: number; output: string }>
  /** Approves both assignments of the quickstart and waits until their roles are granted. */
  approveAll(): Promise<void>
  /** The pid of the `dev` process. */
  pid(): number
  pidOf(part: 'operator' | 'server'): number
  isRunning(part: 'operator' | 'server'): boolean
  postgres: DevPostgres
  /** Stops like Ctrl-C and returns the exit code. */
  stop(): Promise<number>
  /** Stops and removes all files. */
  remove(): Promise<void>
  /** Starts again with the same directory and state. */
  start(): Promise<void>
}

export const CLIENT = { client_id: 'shop', client_secret: 'shop-secret-for-development' }
export const FIELD_SCOPE = 'openid _svc_dob.selfencrypt _svc_dob.selfdecrypt'
export const passwordOf = (user: string): string => `${user}-password-1`

/** Starts `dev` on a copy of the quickstart and resolves when bob can log in. */
export async function startDevWorld(name: string): Promise<DevWorld> {
  const root = mkdtempSync(`${tmpdir()}/realmkeeper-e2e-`)
  const dir = `${root}/manifests`
  const stateDir = `${root}/state`
  cpSync(`${ROOT}examples/quickstart`, dir, { recursive: true })
  recordSecrets(CLIENT.client_secret, passwordOf('alice'), passwordOf('bob'))
  const ports = await freePorts(3)
  const url = `http://127.0.0.1:${ports[0]}`
  const oidc = `${url}/auth/realms/quickstart/protocol/openid-connect`

  let output = ''
  let child: ReturnType<typeof spawn> | undefined
  let exited: Promise<number> = Promise.resolve(0)

  async function start(): Promise<void> {
    const log = createWriteStream(logFile(name), { flags: 'a' })
    const started = spawn(
      process.execPath,
      [
        COMMAND,
        'dev',
        dir,
        '--state-dir',
        stateDir,
        '--listen-port',
        `${ports[0]}`,
        '--health-listen-port',
        `${ports[1]}`,
        '--operator-health-listen-port',
        `${ports[2]}`,
      ],
      { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    child = started
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        log.write(chunk)
      })
    }
    exited = new Promise((resolve) => started.once('exit', (code, signal) => resolve(code ?? (signal ? 128 : 1))))
    await until(async () => {
      if (started.exitCode !== null) throw new Error(`dev ended with ${started.exitCode}:\n${output}`)
      return (await world.login('bob')).status === 200
    }, 60)
  }

  async function send(target: string, headers: Record<string, string>, body: string): Promise<Answer> {
    try {
      const response = await fetch(target, { method: 'POST', headers, body, signal: AbortSignal.timeout(15_000) })
      const text = await response.text()
      const answer = (text ? JSON.parse(text) : {}) as Answer['body']
      recordBody(answer)
      return { status: response.status, body: answer }
    } catch (error) {
      // A refused or closed connection has status 0.
      return { status: 0, body: { error: String(error) } }
    }
  }

  const world: DevWorld = {
    dir,
    stateDir,
    url,
    output: () => output,
    login: (user, form = {}) =>
      world.post('/token', { grant_type: 'password', ...CLIENT, username: user, password: passwordOf(user), ...form }),
    post: (path, form) =>
      send(
        `${oidc}${path}`,
        { 'content-type': 'application/x-www-form-urlencoded' },
        new URLSearchParams(form).toString(),
      ),
    field(operation, token, body) {
      recordBody(body)
      return send(
        `${url}/realms/quickstart/protocol/openid-connect/${operation}`,
        { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        JSON.stringify(body),
      )
    },
    introspect: (token) => world.post('/token/introspect', { ...CLIENT, token }),
    edit(file, change) {
      const path = `${dir}/${file}`
      writeFileSync(`${path}.tmp`, change(readFileSync(path, 'utf8')))
      renameSync(`${path}.tmp`, path)
    },
    cli: (...args) => runCli(root, [...args, '--dir', dir, '--state-dir', stateDir]),
    async approveAll() {
      for (const assignment of ['alice-realm-admin', 'quickstart-dob']) {
        const { code, output: text } = await world.cli('approve', assignment, '--as', 'carol')
        if (code !== 0) throw new Error(`approve ended with ${code}: ${text}`)
      }
      await until(async () => {
        const token = (await world.login('bob', { scope: FIELD_SCOPE })).body.access_token ?? ''
        return (await world.field('encrypt', token, { field: 'dateOfBirth', value: '1990-01-31' })).status === 200
      }, 30)
    },
    pid: () => child?.pid ?? 0,
    pidOf(part) {
      const pid = findPid(child?.pid ?? 0, part)
      if (pid === undefined) throw new Error(`no ${part} runs under ${child?.pid}`)
      return pid
    },
    isRunning: (part) => findPid(child?.pid ?? 0, part) !== undefined,
    postgres: devPostgres(stateDir),
    async stop() {
      child?.kill('SIGINT')
      return exited
    },
    async remove() {
      await world.stop()
      recordStateSecrets(stateDir)
      recordLogFile(`${name}-postgres`, world.postgres.logFile())
      rmSync(root, { recursive: true, force: true })
    },
    start,
  }
  await start()
  return world
}

/** Repeats until the condition is true. Throws after a number of seconds. */
export async function until(condition: () => Promise<boolean> | boolean, seconds = 90): Promise<void> {
  const deadline = performance.now() + seconds * 1000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${seconds} s: ${condition.toString().slice(0, 300)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function runCli(cwd: string, args: string[]): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 128)))
  return { code, output }
}

function findPid(dev: number, part: 'operator' | 'server'): number | undefined {
  return processes().find(({ parent, command }) => parent === dev && command.includes(` ${part}`))?.pid
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => {
    const address = server.address()
    return typeof address === 'object' && address ? address.port : 0
  })
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
