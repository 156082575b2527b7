import { Command, CommanderError } from 'commander'
import { ConfigError } from '../process/config.ts'
import { loggableText } from '../process/loggable.ts'
import { addAuditCommand } from './commands/audit.ts'
import { addDecisionCommands } from './commands/decisions.ts'
import { addDevCommand } from './commands/dev.ts'
import { addKeysCommand } from './commands/keys.ts'
import { addLicenseCommand } from './commands/license.ts'
import { addMigrateCommand } from './commands/migrate.ts'
import { addOperatorCommand } from './commands/operator.ts'
import { addServerCommand } from './commands/server.ts'
import { addValidateCommand } from './commands/validate.ts'
import { isPlainError, UsageError } from '../process/plain_error.ts'

/** Every command, in the order in which help lists them. */
export function commandLine(): Command {
  const program = new Command('realmkeeper')
    .description('An identity and access server configured by Kubernetes resources')
    .showHelpAfterError('(--help lists what can be given)')
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: false })
    .exitOverride()
  addDevCommand(program)
  addValidateCommand(program)
  addDecisionCommands(program)
  addAuditCommand(program)
  addServerCommand(program)
  addOperatorCommand(program)
  addMigrateCommand(program)
  addLicenseCommand(program)
  addKeysCommand(program)
  return program
}

/**
 * Runs what the arguments name, and sets the exit code: 2 for a wrong command line or configuration, 1 for anything
 * else that failed. Errors made for the person who typed are told in their own words; others with their stack.
 */
export async function runCommandLine(args: string[]): Promise<void> {
  try {
    await commandLine().parseAsync(args.map(asCommanderReads), { from: 'user' })
  } catch (error) {
    process.exitCode = tell(error)
  }
}

/** kubectl takes `-n=shop` as it takes `-n shop` and `-nshop`, of which commander knows the last two. */
function asCommanderReads(argument: string): string {
  return argument.replace(/^-([nlo])=(?=.)/, '-$1')
}

function tell(error: unknown): number {
  // commander has said it; its code 0 is --help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof ConfigError) {
    for (const problem of error.problems) console.error(`realmkeeper: ${problem}`)
    return 2
  }
  if (isPlainError(error)) {
    console.error(`realmkeeper: ${error.message}`)
    return error instanceof UsageError ? 2 : 1
  }
  console.error(
    error instanceof Error ? loggableText(error.stack ?? error.message, 4000).replaceAll('\\u000a', '\n') : error,
  )
  return 1
}
