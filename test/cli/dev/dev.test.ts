import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { stopEmbeddedPostgres } from '../../../cli/dev/embedded_postgres.ts'
import { findPostgresBinaries } from '../../../cli/dev/postgres_binaries.ts'
import { realmkeeper } from '../../support/command.ts'
import { startDev } from '../../support/dev_process.ts'
import type { DevProcess } from '../../support/dev_process.ts'
import { processes } from '../../support/processes.ts'
import { ROOT } from '../../support/source_files.ts'

const hasCurl = spawnSync('curl', ['--version']).status === 0
const QUICKSTART = '.realmkeeper/quickstart'
const MANIFESTS = `${QUICKSTART}/manifests`

let folder: string
const started: DevProcess[] = []

async function makeFolder(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'realmkeeper-dev-'))
  await chmod(folder, 0o711)
}

async function removeFolder(): Promise<void> {
  for (const dev of started.splice(0)) {
    dev.child.kill('SIGTERM')
    await dev.ended
  }
  const binaries = await findPostgresBinaries()
  if (binaries) await stopEmbeddedPostgres(join(folder, QUICKSTART, 'state/postgres'), binaries)
  await rm(folder, { recursive: true, force: true })
}

async function dev(args: string[], ports?: DevProcess['ports']): Promise<DevProcess> {
  const process = await startDev(args, folder, ports)
  started.push(process)
  return process
}

const command = (...args: string[]) => realmkeeper(args, { cwd: folder })

/** Runs commands in a shell in the folder; `npx realmkeeper` is that of this checkout. */
function paste(commands: string): string {
  const npx = `npx() { shift; '${process.execPath}' '${ROOT}/cli/realmkeeper.ts' "$@"; }\n`
  const { stdout, stderr } = spawnSync('bash', ['-c', npx + commands], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 120_000,
  })
  return stdout + stderr
}

async function login(
  { ports }: DevProcess,
  username: string,
  password: string,
): Promise<{ status: number; sub?: string }> {
  const oidc = `http://127.0.0.1:${ports.http}/auth/realms/quickstart/protocol/openid-connect`
  const client = { client_id: 'shop', client_secret: 'shop-secret-for-development' }
  const response = await fetch(`${oidc}/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...client, grant_type: 'password', username, password, scope: 'openid' }),
  })
  if (!response.ok) return { status: response.status }
  const { access_token: token }: { access_token: string } = JSON.parse(await response.text())
  const { sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return { status: 200, sub }
}

describe.skipIf(!hasCurl)('the quickstart', () => {
  beforeEach(makeFolder)
  afterEach(removeFolder)

  test('the printed tour works, Ctrl-C ends it with 0, a second start keeps the data', async () => {
    const first = await dev(['--quickstart'])
    await first.printed('Ctrl-C ends it.')
    await first.printed('refresh_token=$F; echo')
    const output = first.output()
    expect(output).toMatch(/roleassignment\/alice-realm-admin +waits/)
    expect(output).toMatch(/roleassignment\/quickstart-dob +waits/)
    expect(output).toMatch(/user\/alice +ready/)
    expect(output).toContain('(Secret quickstart/quickstart-license) is not among the manifests: issued one')

    const tour = output.slice(output.indexOf('The tour.'))
    const commands = tour.slice(tour.indexOf('\n') + 1)
    const answers = paste(commands)
    expect(answers).toContain('"preferred_username":"alice"')
    expect(answers).toContain('"active":true')
    expect(answers).toContain('alice-realm-admin')
    expect(answers).toContain('rk1:1:')
    expect(answers).toContain('"value":"1990-04-01"')
    expect(answers).toMatch(/^204$/m)
    expect(answers.trimEnd()).toMatch(/"error":"invalid_grant".*$/)

    const before = await login(first, 'bob', 'bob-password-1')
    first.child.kill('SIGINT')
    expect(await first.ended).toBe(0)

    const second = await dev(['--quickstart'])
    await second.printed('Ctrl-C ends it.')
    expect(second.output()).not.toContain('copied')
    expect(second.output()).toMatch(/roleassignment\/quickstart-dob +ready/)
    expect(await login(second, 'bob', 'bob-password-1')).toEqual(before)
  })
})

describe('while it runs', () => {
  let running: DevProcess
  beforeAll(async () => {
    await makeFolder()
    running = await dev(['--quickstart'])
    await running.printed('Ctrl-C ends it.')
  })
  afterAll(removeFolder)

  const logsIn = () => login(running, 'alice', 'alice-password-1').catch(() => ({ status: 0 }))

  test('a second dev on the same directory is refused', async () => {
    const second = await dev(['--quickstart'])
    expect(await second.ended).toBe(1)
    expect(second.output()).toContain(`another "realmkeeper dev" (process ${running.child.pid}) uses`)
  })

  test('a second operator on the same state is refused; the error names the first', async () => {
    const holder = pidOf(running, 'operator')
    const url = 'postgres://none:none@127.0.0.1:1/none'
    const args = ['--dir', MANIFESTS, '--state-dir', `${QUICKSTART}/state`, '--base-url=http://localhost']
    const { code, stdout, stderr } = await command('operator', ...args, `--database-url=${url}`)
    expect(code).toBe(1)
    expect(stdout + stderr).toContain(`(process ${holder}) uses`)
    expect(await logsIn()).toMatchObject({ status: 200 })
  })

  test('its audit log is listed and verified with --dir only', async () => {
    const approve = ['approve', 'alice-realm-admin', '-n', 'quickstart', '--dir', MANIFESTS, '--as=ann']
    const refused = await command(...approve, '--seen', '1/another')
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('not the version in --seen')
    const approved = await command(...approve)
    expect(approved.stdout + approved.stderr).toContain('quickstart/alice-realm-admin approved by ann')
    const listed = await command('audit', '--dir', MANIFESTS, '--assignment=alice-realm-admin')
    expect(listed.code).toBe(0)
    expect(listed.stdout).toMatch(/approved.*ann|ann.*approved/i)
    const verified = await command('audit', 'verify', '--dir', MANIFESTS)
    expect(verified.code).toBe(0)
    expect(verified.stdout).toContain('operator')
    const elsewhere = await command('audit', '--dir', 'elsewhere')
    expect(elsewhere.code).toBe(1)
    expect(elsewhere.stderr).toMatch(/^realmkeeper: no database is running for .*start "realmkeeper dev"/)
  })

  test('an invalid file is reported with its line, and the other files are served', async () => {
    await writeFile(join(folder, QUICKSTART, 'manifests/99_broken.yaml'), 'kind: [User\n')
    await running.printed(/99_broken\.yaml:\d+/)
    expect(await logsIn()).toMatchObject({ status: 200 })
  })

  test('an operator or a server that dies is started again', async () => {
    for (const name of ['operator', 'server']) {
      process.kill(pidOf(running, name), 'SIGKILL')
      await running.printed(`the ${name} ended (SIGKILL); starting it again`)
    }
    await expect.poll(logsIn, { timeout: 120_000 }).toMatchObject({ status: 200 })
  })

  test('after SIGKILL the next start succeeds', async () => {
    running.child.kill('SIGKILL')
    await running.ended
    running = await dev(['--quickstart'], running.ports)
    await running.printed('Ctrl-C ends it.')
    expect(await logsIn()).toMatchObject({ status: 200 })
  })
})

describe('failures of the start', () => {
  beforeEach(makeFolder)
  afterEach(removeFolder)

  test('a port in use is reported in one line, and no lock stays', async () => {
    const occupant = createServer()
    await new Promise<void>((resolve) => occupant.listen(0, '127.0.0.1', resolve))
    const address = occupant.address()
    const http = typeof address === 'object' && address ? address.port : 0
    const refused = await dev(['--quickstart'], { http, health: 0, operatorHealth: 0 })
    expect(await refused.ended).toBe(1)
    expect(refused.output()).toContain(
      `realmkeeper: port ${http} on 127.0.0.1 is in use: end the process that listens there, or choose another port with --listen-port\n`,
    )
    expect(await readdir(join(folder, QUICKSTART, 'state'))).not.toContain('dev.lock')
    await new Promise((resolve) => occupant.close(resolve))
  })

  test('a missing directory is reported in one line', async () => {
    const refused = await dev(['nowhere'])
    expect(await refused.ended).toBe(1)
    expect(refused.output()).toBe(
      `realmkeeper: ${join(folder, 'nowhere')} is not a directory: give one that holds manifests, or --quickstart\n`,
    )
  })
})

function pidOf({ child }: DevProcess, name: string): number {
  const found = processes().find(
    ({ parent, command }) => parent === child.pid && command.includes(`realmkeeper.ts ${name} `),
  )
  if (!found) throw new Error(`no ${name} runs`)
  return found.pid
}
