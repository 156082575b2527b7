import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { UsageError } from './plain_error.ts'
import type { Settings, Values } from './setting.ts'

/** Everything that is wrong with a configuration, one line each. */
export class ConfigError extends UsageError {
  override readonly name = 'ConfigError'
  readonly problems: string[]

  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** Gives a command an option for each setting; help shows its default and its variable. */
export function addSettings(command: Command, table: Settings): Command {
  for (const { option } of Object.values(table)) command.addOption(option)
  return command
}

/**
 * The configuration of a command whose arguments commander has parsed: a flag overrides its variable, the variable
 * the default. commander would report the first problem only, and repeat a wrong URL with its password; this reports
 * all problems. Throws ConfigError.
 */
export function readConfig<Table extends Settings>(command: Command, table: Table): Values<Table> {
  const problems = unknownVariables(command)
  const values: Record<string, unknown> = {}
  for (const [name, { option, parse, required, fallback }] of Object.entries(table)) {
    const source = command.getOptionValueSource(option.attributeName())
    const isGiven = source === 'cli' || source === 'env'
    if (!isGiven && required) problems.push(`--${option.name()} (${option.envVar}) is required`)
    try {
      values[name] = isGiven ? parse(String(command.getOptionValue(option.attributeName()))) : fallback
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error
      problems.push(`${source === 'env' ? option.envVar : `--${option.name()}`} ${error.message}`)
    }
  }
  if (problems.length > 0) throw new ConfigError(problems)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each member was parsed by the setting of its name
  return values as Values<Table>
}

// Kubernetes sets these in every container, for each Service of the namespace. The tests use the first for themselves.
const NOT_OURS = /^REALMKEEPER_TEST_|_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)?)$/

/** A misspelt variable is an error: otherwise the default would apply unnoticed. */
function unknownVariables(command: Command): string[] {
  const known = variablesOf(rootOf(command))
  return Object.keys(process.env)
    .filter((name) => name.startsWith('REALMKEEPER_') && !known.has(name) && !NOT_OURS.test(name))
    .map((name) => `${name} is not a variable of realmkeeper: see "realmkeeper COMMAND --help" for their names`)
}

function rootOf(command: Command): Command {
  return command.parent ? rootOf(command.parent) : command
}

function variablesOf({ options, commands }: Command): Set<string | undefined> {
  return new Set([...options.map(({ envVar }) => envVar), ...commands.flatMap((one) => [...variablesOf(one)])])
}

/** The address of the cluster's API server, which Kubernetes sets in every pod; undefined outside of one. */
export function apiServerOfPod(
  environment: NodeJS.ProcessEnv = process.env,
): { host: string; port: string } | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  return host && port ? { host, port } : undefined
}

/** Threads of libuv's pool, which password hashes, signatures and file reads share. libuv's default is 4. */
export function threadPoolSize(environment: NodeJS.ProcessEnv = process.env): number {
  return Number(environment.UV_THREADPOOL_SIZE) || 4
}

/** The environment of a child process: ours, without our configuration, and with `variables`. */
export function childEnvironment(variables: Record<string, string>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('REALMKEEPER_'))
  return { ...Object.fromEntries(inherited), ...variables }
}
