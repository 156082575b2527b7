import { userInfo } from 'node:os'
import { Option } from 'commander'
import type { Command } from 'commander'
import { DECISION_SETTINGS } from '../../process/settings.ts'
import type { Cluster } from '../cluster.ts'
import type { Selection } from '../decisions/cluster/cluster_assignments.ts'
import { stateDirectoryOf } from '../dev/state_directory.ts'
import { addSettings, readConfig } from '../../process/config.ts'
import { PlainError, UsageError } from '../../process/plain_error.ts'
import { addClusterOptions } from '../cluster_options.ts'

export type Output = 'text' | 'json' | 'name'

export interface WhereFlags {
  namespace?: string
  allNamespaces?: true
  selector?: string
  output: Output
}

export interface Verb {
  verb: 'approve' | 'deny'
  decision: 'Approved' | 'Denied'
  description: string
}

export interface DecideFlags extends WhereFlags {
  comment?: string
  yes?: true
  wait: boolean
  seen?: string
}

/** Options for the place, the selection, the caller and the output of RoleAssignments. */
export function addDecisionOptions(command: Command): Command {
  addClusterOptions(command)
    .option('-A, --all-namespaces', 'in every namespace')
    .option('-l, --selector <labels>', 'label selector, as for kubectl')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json', 'name']).default('text'))
  return addSettings(command, DECISION_SETTINGS)
}

/** The directory and the state directory of the process that serves it; undefined for a cluster. */
export function directoryOf(command: Command): { directory: string; stateDir: string } | undefined {
  const { dir, stateDir } = readConfig(command, DECISION_SETTINGS)
  if (dir === undefined) return undefined
  const given: Record<string, unknown> = command.opts()
  for (const option of ['kubeconfig', 'context', 'asGroup', 'allNamespaces', 'selector']) {
    if (given[option] === undefined) continue
    const flag = option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    throw new UsageError(`--${flag} selects a cluster, and --dir (REALMKEEPER_DIR) a directory: give one of them`)
  }
  return { directory: dir, stateDir: stateDirectoryOf(dir, stateDir) }
}

/** The user to impersonate in a cluster; undefined for the kubeconfig's own. */
export function impersonated(command: Command): string | undefined {
  return readConfig(command, DECISION_SETTINGS).as
}

/** The approver in a directory. */
export function approverInDirectory(command: Command): string {
  return readConfig(command, DECISION_SETTINGS).as ?? loginName()
}

/** The selection by -n, -A and -l. */
export function selectionOf({ namespace }: Cluster, { allNamespaces, selector }: WhereFlags): Selection {
  return { namespace: allNamespaces ? undefined : namespace, selector }
}

/** Requires names or a selector, so that leaving out both does not decide on everything. Throws UsageError. */
export function requireNamesOrSelector(names: readonly string[], { selector, allNamespaces }: WhereFlags): void {
  if (names.length === 0 && selector === undefined) throw new UsageError('give names, or labels with -l')
  if (names.length > 0 && selector !== undefined) throw new UsageError('give names, or labels with -l, not both')
  if (names.length > 0 && allNamespaces) throw new UsageError('a name is in one namespace: give -n, not -A')
}

/** As kubectl prints it with `-o name`. */
export function resourceName({ name }: { name: string }): string {
  return `roleassignment.realmkeeper.io/${name}`
}

function loginName(): string {
  try {
    return userInfo().username
  } catch {
    throw new PlainError('this account has no login name: name the approver with --as')
  }
}
