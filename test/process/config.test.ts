import { describe, expect, test } from 'vitest'
import { ConfigError, apiServerOfPod, childEnvironment, readConfig } from '../../process/config.ts'
import { OPERATOR_SETTINGS, SERVER_SETTINGS } from '../../process/settings.ts'

const NEEDED = { databaseUrl: 'postgres://u:p@db/x', baseUrl: 'https://id.example.org' }

function problems(flags: Record<string, string>, environment: Record<string, string> = {}): string[] {
  try {
    readConfig(SERVER_SETTINGS, flags, environment)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

test('defaults are those of the protocol', () => {
  expect(readConfig(SERVER_SETTINGS, NEEDED, {})).toMatchObject({
    listenPort: 8080,
    healthPort: 9000,
    failedLoginsPerAddress: 300,
    failedLoginsPerClient: 3000,
    failedDecryptsPerSubject: 60,
    trustedProxies: [],
    logLevel: 'info',
  })
  expect(readConfig(OPERATOR_SETTINGS, NEEDED, {})).toMatchObject({
    healthPort: 9001,
    requireApprovalEnforcement: false,
  })
})

test('a flag wins over the environment, the environment over the default', () => {
  const environment = { REALMKEEPER_LISTEN_PORT: '8081', REALMKEEPER_LOG_LEVEL: 'warn' }
  const config = readConfig(SERVER_SETTINGS, { ...NEEDED, listenPort: '8082' }, environment)
  expect(config).toMatchObject({ listenPort: 8082, logLevel: 'warn' })
})

test('every problem is told at once, with the name under which the value was given', () => {
  const wrong = problems(
    { listenPort: '70000', trustedProxies: '10.0.0.0/8,10.0.0.0/33' },
    { REALMKEEPER_LOG_LEVEL: 'loud', REALMKEEPER_BASE_URL: 'id.example.org' },
  )
  expect(wrong).toEqual([
    '--database-url (REALMKEEPER_DATABASE_URL) is required',
    'REALMKEEPER_BASE_URL must be an http(s) URL, not "id.example.org"',
    '--listen-port must be a whole number from 0 to 65535, not "70000"',
    '--trusted-proxies must be addresses or networks such as 10.0.0.0/8, which "10.0.0.0/33" is not',
    'REALMKEEPER_LOG_LEVEL must be one of debug, info, warn, error, not "loud"',
  ])
})

describe('what is refused', () => {
  test.for([
    ['failedLoginsPerAddress', '-1'],
    ['failedLoginsPerAddress', '1e3'],
    ['failedLoginsPerAddress', '300 '],
    ['failedLoginsPerAddress', ''],
    ['listenPort', '0x50'],
    ['baseUrl', 'ftp://id.example.org'],
    ['baseUrl', 'https://id.example.org/?tenant=1'],
    ['baseUrl', 'https://id.example.org/#x'],
    ['baseUrl', 'https://user:pass@id.example.org'],
    ['databaseUrl', 'mysql://db/x'],
    ['trustedProxies', '10.0.0'],
    ['trustedProxies', '10.0.0.1/'],
    ['trustedProxies', '::1/129'],
    ['trustedProxies', 'proxy.example.org'],
    ['listenHost', ' '],
  ] as const)('%s %j', ([name, given]) => {
    expect(problems({ ...NEEDED, [name]: given })).toHaveLength(1)
  })

  test('a message does not repeat a database password', () => {
    expect(problems({ ...NEEDED, databaseUrl: 'postgrse://u:canary@db/x' }).join()).not.toContain('canary')
  })
})

test('lists are split and trimmed; the slash at the end of a base URL goes', () => {
  const config = readConfig(
    SERVER_SETTINGS,
    { ...NEEDED, baseUrl: 'https://id.example.org/base/', trustedProxies: '10.0.0.0/8, ::1' },
    {},
  )
  expect(config).toMatchObject({ baseUrl: 'https://id.example.org/base', trustedProxies: ['10.0.0.0/8', '::1'] })
})

test('a variable that nobody reads is a mistake, unless Kubernetes set it for a Service', () => {
  expect(problems(NEEDED, { REALMKEEPER_BASE_ULR: 'x' })).toEqual([
    'REALMKEEPER_BASE_ULR is not a variable of realmkeeper: see "realmkeeper COMMAND --help" for their names',
  ])
  const serviceLinks = {
    REALMKEEPER_SERVER_SERVICE_HOST: '10.0.0.1',
    REALMKEEPER_SERVER_SERVICE_PORT_HTTP: '8080',
    REALMKEEPER_SERVER_PORT_8080_TCP_ADDR: '10.0.0.1',
    REALMKEEPER_PORT: 'tcp://10.0.0.1:8080',
  }
  expect(problems(NEEDED, serviceLinks)).toEqual([])
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

test('namespaces to watch are names, each once; none is all of them', () => {
  const watched = (given?: string): string[] =>
    readConfig(OPERATOR_SETTINGS, { ...NEEDED, watchNamespaces: given }, {}).watchNamespaces
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
