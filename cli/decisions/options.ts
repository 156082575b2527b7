import { userInfo } from 'node:os'
import { Option } from 'commander'
import type { Command } from 'commander'
import { addSettings, readConfig } from '../../process/config.ts'
import { PlainError, UsageError } from '../../process/plain_error.ts'
import { DECISION_SETTINGS } from '../../process/settings.ts'
import { addClusterOptions } from '../cluster_options.ts'
import { stateDirectoryOf } from '../dev/state_directory.ts'

/** The options of `pending` and `show`. */
export interface SelectFlags {
  namespace?: string
  allNamespaces?: true
  selector?: string
  output: 'text' | 'json' | 'name'
}

/** The options of `approve` and `deny`. */
export interface DecideFlags extends SelectFlags {
  comment?: string
  yes?: true
  wait: boolean
  seen?: string
}

/** Adds the options for the place, the selection, the caller and the output of RoleAssignments. */
export function addDecisionOptions(command: Command): Command {
  addClusterOptions(command)
    .option('-A, --all-namespaces', 'all namespaces')
    .option('-l, --selector <labels>', 'label selector, as for kubectl')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json', 'name']).default('text'))
  return addSettings(command, DECISION_SETTINGS)
}

/** A directory of manifests, and the state directory of the `dev` that serves it. */
export interface ServedDirectory {
  directory: string
  stateDir: string
}

/** Where a command reads RoleAssignments: in a served directory, else in a cluster. `as` is the user to act as. */
export function placeOf(command: Command): { served?: ServedDirectory; as: string | undefined } {
  const { dir, stateDir, as } = readConfig(command, DECISION_SETTINGS)
  if (dir === undefined) return { as }
  const given: Record<string, unknown> = command.opts()
  for (const option of ['kubeconfig', 'context', 'asGroup', 'allNamespaces', 'selector']) {
    if (given[option] === undefined) continue
    const flag = option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    throw new UsageError(`--${flag} selects a cluster, and --dir (REALMKEEPER_DIR) a directory: give one of them`)
  }
  return { served: { directory: dir, stateDir: stateDirectoryOf(dir, stateDir) }, as }
}

/** The user name of the account that runs this process, the default approver in a directory. */
export function loginName(): string {
  try {
    return userInfo().username
  } catch {
    throw new PlainError('this account has no login name: name the approver with --as')
  }
}

/** Requires names or a selector, so that leaving out both does not decide on everything. Throws UsageError. */
export function requireNamesOrSelector(names: readonly string[], { selector, allNamespaces }: SelectFlags): void {
  if (names.length === 0 && selector === undefined) throw new UsageError('give names, or labels with -l')
  if (names.length > 0 && selector !== undefined) throw new UsageError('give names, or labels with -l, not both')
  if (names.length > 0 && allNamespaces) throw new UsageError('a name is in one namespace: give -n, not -A')
}

/** As kubectl prints it with `-o name`. */
export function resourceName({ name }: { name: string }): string {
  return `roleassignment.realmkeeper.io/${name}`
}
