import { describe, expect, test } from 'vitest'
import { ConfigError, apiServerOfPod, childEnvironment } from '../../process/config.ts'
import { OPERATOR_SETTINGS, SERVER_SETTINGS } from '../../process/settings.ts'
import { configFrom } from '../support/config.ts'

const REQUIRED = ['--database-url', 'postgres://u:p@db/x', '--base-url', 'https://id.example.org']

function problems(args: string[], environment: Record<string, string> = {}): string[] {
  try {
    configFrom(SERVER_SETTINGS, args, environment)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

test('defaults are those of the protocol', () => {
  expect(configFrom(SERVER_SETTINGS, REQUIRED)).toMatchObject({
    listenPort: 8080,
    healthPort: 9000,
    failedLoginsPerAddress: 300,
    failedLoginsPerClient: 3000,
    failedDecryptsPerSubject: 60,
    trustedProxies: [],
    logLevel: 'info',
  })
  expect(configFrom(OPERATOR_SETTINGS, REQUIRED)).toMatchObject({
    healthPort: 9001,
    requireApprovalEnforcement: false,
    realmWorkers: 2,
    clientWorkers: 4,
    userWorkers: 8,
    roleAssignmentWorkers: 4,
    apiRequestsPerSecond: 0,
  })
})

test('a flag overrides the environment, the environment the default', () => {
  const environment = { REALMKEEPER_LISTEN_PORT: '8081', REALMKEEPER_LOG_LEVEL: 'warn' }
  const config = configFrom(SERVER_SETTINGS, [...REQUIRED, '--listen-port', '8082'], environment)
  expect(config).toMatchObject({ listenPort: 8082, logLevel: 'warn' })
})

test('every problem is reported at once, with the flag or the variable that gave the value', () => {
  const wrong = problems(['--listen-port', '70000', '--trusted-proxies', '10.0.0.0/8,10.0.0.0/33'], {
    REALMKEEPER_LOG_LEVEL: 'loud',
    REALMKEEPER_BASE_URL: 'id.example.org',
  })
  expect(wrong).toEqual([
    '--database-url (REALMKEEPER_DATABASE_URL) is required',
    'REALMKEEPER_BASE_URL must be an http(s) URL, not "id.example.org"',
    '--listen-port must be a whole number from 0 to 65535, not "70000"',
    '--trusted-proxies must be addresses or networks such as 10.0.0.0/8, which "10.0.0.0/33" is not',
    'REALMKEEPER_LOG_LEVEL must be one of debug, info, warn, error, not "loud"',
  ])
})

describe('values that are refused', () => {
  test.for([
    ['--failed-logins-per-address', '-1'],
    ['--failed-logins-per-address', '1e3'],
    ['--failed-logins-per-address', '300 '],
    ['--failed-logins-per-address', ''],
    ['--listen-port', '0x50'],
    ['--base-url', 'ftp://id.example.org'],
    ['--base-url', 'https://id.example.org/?tenant=1'],
    ['--base-url', 'https://id.example.org/#x'],
    ['--base-url', 'https://user:pass@id.example.org'],
    ['--database-url', 'mysql://db/x'],
    ['--trusted-proxies', '10.0.0'],
    ['--trusted-proxies', '10.0.0.1/'],
    ['--trusted-proxies', '::1/129'],
    ['--trusted-proxies', 'proxy.example.org'],
    ['--listen-host', ' '],
  ] as const)('%s %j', ([flag, given]) => {
    expect(problems([...REQUIRED, `${flag}=${given}`])).toHaveLength(1)
  })

  test('a message does not repeat a database password', () => {
    expect(problems([...REQUIRED, '--database-url', 'postgrse://u:canary@db/x']).join()).not.toContain('canary')
  })
})

test('lists are split and trimmed; the slash at the end of a base URL goes', () => {
  const args = ['--base-url', 'https://id.example.org/base/', '--trusted-proxies', '10.0.0.0/8, ::1']
  const config = configFrom(SERVER_SETTINGS, [...REQUIRED, ...args])
  expect(config).toMatchObject({ baseUrl: 'https://id.example.org/base', trustedProxies: ['10.0.0.0/8', '::1'] })
})

test('an unknown variable is an error, unless Kubernetes set it for a Service', () => {
  expect(problems(REQUIRED, { REALMKEEPER_BASE_ULR: 'x' })).toEqual([
    'REALMKEEPER_BASE_ULR is not a variable of realmkeeper: see "realmkeeper COMMAND --help" for their names',
  ])
  const serviceLinks = {
    REALMKEEPER_SERVER_SERVICE_HOST: '10.0.0.1',
    REALMKEEPER_SERVER_SERVICE_PORT_HTTP: '8080',
    REALMKEEPER_SERVER_PORT_8080_TCP_ADDR: '10.0.0.1',
    REALMKEEPER_PORT: 'tcp://10.0.0.1:8080',
  }
  expect(problems(REQUIRED, serviceLinks)).toEqual([])
})

test('a switch is given by its flag alone, or as true or false', () => {
  const required = (args: string[], environment = {}): boolean =>
    configFrom(OPERATOR_SETTINGS, [...REQUIRED, ...args], environment).requireApprovalEnforcement
  expect(required(['--require-approval-enforcement'])).toBe(true)
  expect(required([], { REALMKEEPER_REQUIRE_APPROVAL_ENFORCEMENT: 'true' })).toBe(true)
  expect(required([], { REALMKEEPER_REQUIRE_APPROVAL_ENFORCEMENT: 'false' })).toBe(false)
  expect(() => required([], { REALMKEEPER_REQUIRE_APPROVAL_ENFORCEMENT: 'no' })).toThrow(/must be true or false/)
})

test('a child process inherits everything but configuration', () => {
  process.env.REALMKEEPER_LOG_LEVEL = 'debug'
  try {
    const environment = childEnvironment({ REALMKEEPER_BASE_URL: 'https://x' })
    expect(environment).toMatchObject({ PATH: process.env.PATH, REALMKEEPER_BASE_URL: 'https://x' })
    expect(environment).not.toHaveProperty('REALMKEEPER_LOG_LEVEL')
  } finally {
    delete process.env.REALMKEEPER_LOG_LEVEL
  }
})

test('namespaces to watch are names, each once; none means all', () => {
  const watched = (...given: string[]): string[] =>
    configFrom(OPERATOR_SETTINGS, [...REQUIRED, ...given.flatMap((names) => ['--watch-namespaces', names])])
      .watchNamespaces
  expect(watched()).toEqual([])
  expect(watched('shop, team-a,shop')).toEqual(['shop', 'team-a'])
  for (const wrong of ['Shop', 'a/b', '*', '-a']) expect(() => watched(wrong)).toThrow(/must be names of namespaces/)
})

test('a pod knows where its API server is', () => {
  expect(apiServerOfPod({ KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' })).toEqual({
    host: '10.0.0.1',
    port: '443',
  })
  expect(apiServerOfPod({ KUBERNETES_SERVICE_HOST: '10.0.0.1' })).toBeUndefined()
})

test.each([
  ['--user-workers', '0', 'must be a whole number from 1 to 64, not "0"'],
  ['--realm-workers', '65', 'must be a whole number from 1 to 64, not "65"'],
  ['--api-requests-per-second', '-1', 'must be a whole number from 0 to 10000, not "-1"'],
])('%s %s is refused', (flag, value, problem) => {
  expect(() => configFrom(OPERATOR_SETTINGS, [...REQUIRED, `${flag}=${value}`])).toThrow(`${flag} ${problem}`)
})
