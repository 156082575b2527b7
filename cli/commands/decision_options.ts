import { userInfo } from 'node:os'
import { Option } from 'commander'
import type { Command } from 'commander'
import { DECISION_SETTINGS } from '../../process/settings.ts'
import type { Cluster } from '../kubeconfig.ts'
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

/** Options that say where RoleAssignments are, which of them are meant, who asks, and how they are printed. */
export function addDecisionOptions(command: Command): Command {
  addClusterOptions(command)
    .option('-A, --all-namespaces', 'in every namespace')
    .option('-l, --selector <labels>', 'those with these labels, as kubectl selects them')
    .addOption(
      new Option('-o, --output <format>', 'how it is printed').choices(['text', 'json', 'name']).default('text'),
    )
  return addSettings(command, DECISION_SETTINGS)
}

/** The directory that is meant, and the state of the process that serves it; undefined when a cluster is meant. */
export function directoryOf(command: Command): { directory: string; stateDir: string } | undefined {
  const { dir, stateDir } = readConfig(command, DECISION_SETTINGS)
  if (dir === undefined) return undefined
  const given: Record<string, unknown> = command.opts()
  for (const option of ['kubeconfig', 'context', 'asGroup', 'allNamespaces', 'selector']) {
    if (given[option] === undefined) continue
    const flag = option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    throw new UsageError(
      `--${flag} is about a cluster, and --dir (REALMKEEPER_DIR) about a directory: give one of them`,
    )
  }
  return { directory: dir, stateDir: stateDirectoryOf(dir, stateDir) }
}

/** Whom to act as in a cluster, when it is not the kubeconfig's user. */
export function impersonated(command: Command): string | undefined {
  return readConfig(command, DECISION_SETTINGS).as
}

/** Who decides in a directory. */
export function approverInDirectory(command: Command): string {
  return readConfig(command, DECISION_SETTINGS).as ?? loginName()
}

/** What -n, -A and -l select. */
export function selectionOf({ namespace }: Cluster, { allNamespaces, selector }: WhereFlags): Selection {
  return { namespace: allNamespaces ? undefined : namespace, selector }
}

/** Names or a selector: one of them, so that nobody decides on everything by leaving both out. */
export function requireNamesOrSelector(names: readonly string[], { selector, allNamespaces }: WhereFlags): void {
  if (names.length === 0 && selector === undefined) throw new UsageError('which one? Give names, or labels with -l')
  if (names.length > 0 && selector !== undefined) throw new UsageError('give names, or labels with -l, not both')
  if (names.length > 0 && allNamespaces) throw new UsageError('a name is in one namespace: give -n, not -A')
}

/** As kubectl writes it. */
export function resourceName({ name }: { name: string }): string {
  return `roleassignment.realmkeeper.io/${name}`
}

function loginName(): string {
  try {
    return userInfo().username
  } catch {
    throw new PlainError('this account has no login name: say who decides with --as')
  }
}
