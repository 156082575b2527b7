import { ALL_SETTINGS } from './settings.ts'
import { SettingError } from './setting.ts'
import type { Setting, Settings, Values } from './setting.ts'

/** Everything that is wrong with a configuration, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: string[]

  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/**
 * Reads a process's configuration: a flag wins over its variable, the variable over the default. `flags` holds what
 * was given on the command line under the names of the table. Throws one ConfigError that names every problem.
 */
export function readConfig<Table extends Settings>(
  table: Table,
  flags: Readonly<Record<string, string | boolean | undefined>>,
  environment: NodeJS.ProcessEnv = process.env,
): Values<Table> {
  const problems = unknownVariables(environment)
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(table)) {
    const { from, given } = whereGiven(setting, flags[name], environment)
    try {
      values[name] = valueOf(setting, given)
    } catch (error) {
      if (!(error instanceof SettingError)) throw error
      problems.push(`${from} ${error.message}`)
    }
  }
  if (problems.length > 0) throw new ConfigError(problems)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each member was parsed by the setting of its name
  return values as Values<Table>
}

function whereGiven(
  setting: Setting<unknown>,
  onCommandLine: string | boolean | undefined,
  environment: NodeJS.ProcessEnv,
): { from: string; given: string | undefined } {
  if (onCommandLine !== undefined) return { from: `--${setting.flag}`, given: String(onCommandLine) }
  const inEnvironment = environment[setting.env]
  if (inEnvironment !== undefined) return { from: setting.env, given: inEnvironment }
  return { from: `--${setting.flag} (${setting.env})`, given: setting.fallback }
}

function valueOf(setting: Setting<unknown>, given: string | undefined): unknown {
  if (given !== undefined) return setting.parse(given)
  if (setting.optional) return undefined
  throw new SettingError('is required')
}

// What Kubernetes sets in every container for each Service of the namespace, and what the tests tell each other.
const NOT_OURS = /^REALMKEEPER_TEST_|_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)?)$/

/** Where the API server of the cluster is, as Kubernetes tells every pod; undefined outside of one. */
export function apiServerOfPod(
  environment: NodeJS.ProcessEnv = process.env,
): { host: string; port: string } | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  return host && port ? { host, port } : undefined
}

/** A misspelt name would otherwise leave a default in force that nobody chose. */
function unknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = new Set(ALL_SETTINGS.flatMap((table) => Object.values(table).map(({ env }) => env)))
  return Object.keys(environment)
    .filter((name) => name.startsWith('REALMKEEPER_') && !known.has(name) && !NOT_OURS.test(name))
    .map((name) => `${name} is not a variable of realmkeeper: see "realmkeeper COMMAND --help" for their names`)
}

/** The environment of a child process: ours, without configuration, and with `variables`. */
export function childEnvironment(variables: Record<string, string>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('REALMKEEPER_'))
  return { ...Object.fromEntries(inherited), ...variables }
}
