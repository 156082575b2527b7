import type { WatchState } from '../../kubernetes/reflector.ts'
import type { EnforcementCheck } from '../enforcement/enforcement_check.ts'
import type { KeyringRole } from '../realm/keyring/keyring_role.ts'
import type { Elect } from '../leadership/leader_election.ts'
import type { ResourceSource, SecretAccess } from './resource_source.ts'

/** Where resources come from, a cluster or a directory, and what depends on that. */
export interface Origin {
  source: ResourceSource
  /** The Secrets of the source. In a cluster, a keyring is added to the Role of the servers before it is used. */
  secrets: () => SecretAccess
  /** Runs terms while this process may write: while it holds the Lease, or always. */
  elect: Elect
  /** Why the resources may be out of date, for people. Absent where they never are. */
  problem?: () => string | undefined
  /** The state of each watch. Absent where nothing is watched over a network. */
  watches?: () => WatchState[]
  /** The first list may take long. The process meanwhile serves its health. */
  mayBeAway: boolean
  /** Creates the check of the admission policies for one term. Absent where the operator itself enforces the rules. */
  enforcementCheck?: () => EnforcementCheck
  /** Absent where no Role limits what servers may read. */
  keyringRole?: KeyringRole
  /** To be called after the election and the source have stopped. */
  close: () => void
}
