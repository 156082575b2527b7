import { Command, CommanderError } from 'commander'
import { ConfigError } from '../process/config.ts'
import { loggableText } from '../process/loggable.ts'
import { isPlainError, UsageError } from '../process/plain_error.ts'
import { addAuditCommand } from './commands/audit.ts'
import { addDecisionCommands } from './commands/decisions.ts'
import { addDevCommand } from './commands/dev.ts'
import { addKeysCommand } from './commands/keys.ts'
import { addLicenseCommand } from './commands/license.ts'
import { addMigrateCommand } from './commands/migrate.ts'
import { addMigrateResourcesCommand } from './commands/migrate_resources.ts'
import { addOperatorCommand } from './commands/operator.ts'
import { addReleaseCommand } from './commands/release.ts'
import { addServerCommand } from './commands/server.ts'
import { addValidateCommand } from './commands/validate.ts'

/** All commands, in the order of the help. */
export function commandLine(): Command {
  const program = new Command('realmkeeper')
    .description('An identity and access server configured by Kubernetes resources')
    .showHelpAfterError('(--help lists commands and options)')
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: false, minWidthToWrap: 30 })
    .exitOverride()
  addDevCommand(program)
  addValidateCommand(program)
  addDecisionCommands(program)
  addAuditCommand(program)
  addServerCommand(program)
  addOperatorCommand(program)
  addMigrateCommand(program)
  addMigrateResourcesCommand(program)
  addReleaseCommand(program)
  addLicenseCommand(program)
  addKeysCommand(program)
  return program
}

/**
 * Runs the command that the arguments name and sets the exit code: 2 for a wrong command line or configuration, 1 for
 * any other failure. A PlainError is printed as one message, any other error with its stack.
 */
export async function runCommandLine(args: string[]): Promise<void> {
  try {
    await commandLine().parseAsync(args.map(toCommanderStyle), { from: 'user' })
  } catch (error) {
    process.exitCode = report(error)
  }
}

/** kubectl accepts `-n=shop`, `-n shop` and `-nshop`; commander accepts the last two. */
function toCommanderStyle(argument: string): string {
  return argument.replace(/^-([nlo])=(?=.)/, '-$1')
}

/** Prints an error; returns the exit code. */
function report(error: unknown): number {
  // commander has printed it; its exit code is 0 for --help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (isPlainError(error)) {
    const messages = error instanceof ConfigError ? error.problems : [error.message]
    for (const message of messages) console.error(`realmkeeper: ${message}`)
    return error instanceof UsageError ? 2 : 1
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
  console.error(loggableText(stack, 4000).replaceAll('\\u000a', '\n'))
  return 1
}
