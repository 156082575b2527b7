import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { commandLine } from '../../cli/main.ts'
import { verifyLicense } from '../../keyring/license.ts'
import { realmkeeper } from '../support/command.ts'

function allCommands(of = commandLine(), path: string[] = []): { path: string[]; help: string }[] {
  return of.commands.flatMap((command) => {
    const here = [...path, command.name()]
    return [{ path: here, help: command.helpInformation() }, ...allCommands(command, here)]
  })
}

test('every command has a description in the help', () => {
  const names = allCommands().map(({ path }) => path.join(' '))
  expect(names).toEqual(
    expect.arrayContaining([
      'dev',
      'server',
      'operator',
      'migrate',
      'validate',
      'pending',
      'show',
      'approve',
      'deny',
      'license issue',
      'keys rotate',
    ]),
  )
  for (const command of commandLine().commands) expect(command.description()).not.toBe('')
})

test('help names the variables of the environment and the defaults', async () => {
  const { code, stdout } = await realmkeeper(['server', '--help'])
  expect(code).toBe(0)
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('(default: 8080, env: REALMKEEPER_LISTEN_PORT)')
})

test.for([
  [['servr'], '(Did you mean server?)'],
  [['server', '--listn-port', '1'], '(Did you mean --listen-port?)'],
  [['dev'], 'realmkeeper: give a directory of manifests, or --quickstart: realmkeeper dev ./manifests'],
  [['validate'], "missing required argument 'path'"],
  [['license', 'issue', '--realm', 'a', '--key', 'b', '--days', '0'], 'must be a whole number from 1 to 3650'],
] as const)('%j is a wrong command line: 2', async ([args, message]) => {
  const { code, stdout, stderr } = await realmkeeper([...args])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(message)
})

test('all problems of a configuration are reported at once: 2', async () => {
  const env = { REALMKEEPER_LOG_LEVEL: 'loud', REALMKEEPER_LISTEN_PROT: '1' }
  const { code, stderr } = await realmkeeper(['server', '--health-listen-port', '99999'], { env })
  expect(code).toBe(2)
  expect(stderr.trimEnd().split('\n')).toEqual([
    expect.stringContaining('REALMKEEPER_LISTEN_PROT is not a variable of realmkeeper'),
    'realmkeeper: --database-url (REALMKEEPER_DATABASE_URL) is required',
    'realmkeeper: --base-url (REALMKEEPER_BASE_URL) is required',
    'realmkeeper: --health-listen-port must be a whole number from 0 to 65535, not "99999"',
    'realmkeeper: REALMKEEPER_LOG_LEVEL must be one of debug, info, warn, error, not "loud"',
  ])
})

test('an unreachable database is reported in one line, without its password: 1', async () => {
  const env = { REALMKEEPER_DATABASE_URL: 'postgres://realmkeeper:canary@127.0.0.1:1/x' }
  const { code, stderr } = await realmkeeper(['migrate'], { env })
  expect(code).toBe(1)
  expect(stderr).toBe('realmkeeper: the database cannot be migrated: connect ECONNREFUSED 127.0.0.1:1\n')
})

test('a license is issued with a key of new-key, and verifies with its public half', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'realmkeeper-license-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const keyFile = join(folder, 'key.json')
  const made = await realmkeeper(['license', 'new-key', keyFile])
  expect(made.code).toBe(0)
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600)
  expect(made.stdout).not.toContain(JSON.parse(await readFile(keyFile, 'utf8')).d)

  const issued = await realmkeeper(['license', 'issue', '--realm', 'quickstart', '--key', keyFile, '--days', '10'])
  const [publicKey] = JSON.parse(made.stdout).keys
  const verdict = await verifyLicense(issued.stdout.trim(), [publicKey], { realm: 'quickstart', now: new Date() })
  expect(verdict).toMatchObject({ valid: true, issuer: 'realmkeeper license issue' })

  const again = await realmkeeper(['license', 'new-key', keyFile])
  expect(again.code).toBe(1)
  expect(again.stderr).toBe(
    `realmkeeper: ${keyFile} cannot be created (EEXIST); an existing key is never overwritten\n`,
  )
})

test('an unreachable cluster is reported in one line, without credentials: 1', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'realmkeeper-kubeconfig-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const kubeconfig = join(folder, 'config')
  const config = {
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user: { token: 'canary-token' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  await writeFile(kubeconfig, JSON.stringify(config))
  const { code, stdout, stderr } = await realmkeeper(['pending'], { env: { KUBECONFIG: kubeconfig } })
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'realmkeeper: RoleAssignments of namespace default: the API server cannot be reached: ' +
      'connect ECONNREFUSED 127.0.0.1:1\n',
  })
})

test.for([
  [['pending', '--kubeconfig', 'nowhere.yaml'], 'realmkeeper: nowhere.yaml: no such file; for the manifests that'],
  [['keys', 'rotate', '--realm', 'a', '--kind', 'signing', '--dir', 'b'], 'realmkeeper.io/rotate-signing: "20'],
  [['approve', 'x', '--dir', 'nowhere'], 'start "realmkeeper dev" on the directory first, or name its --state-dir'],
] as const)('%j names what is missing: 1', async ([args, message]) => {
  const { code, stderr } = await realmkeeper([...args])
  expect(code).toBe(1)
  expect(stderr).toContain(message)
})
