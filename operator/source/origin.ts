import type { EnforcementCheck } from '../enforcement/enforcement_check.ts'
import type { KeyringRole } from '../realm/keyring/keyring_role.ts'
import type { ResourceSource, SecretAccess } from './resource_source.ts'
import type { Elect } from '../leadership/leader_election.ts'

/** Where resources come from, and what comes with it. */
export interface Origin {
  source: ResourceSource
  /** As those of the source; a cluster also has to let servers read keyrings. */
  secrets: () => SecretAccess
  /** Calls what it is given whenever this process may write. */
  elect: Elect
  /** Why what is held may be out of date, for people; left out where it never is. */
  problem?: () => string | undefined
  /** It may take a while until everything is listed; the process says meanwhile that it is alive. */
  mayBeAway: boolean
  /** For one turn; undefined where the operator itself holds the rules on who decides. */
  watchApprovals?: () => EnforcementCheck
  keyringRole?: KeyringRole
  /** After the source and the election have stopped. */
  close: () => void
}
