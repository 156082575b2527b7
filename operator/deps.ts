import type { Logger } from 'pino'
import type { LicenseKey } from '../keyring/license.ts'
import type { PasswordHasher } from './user/password_hash.ts'
import type { Rows } from './rows/rows.ts'
import type { ApprovalEnforcement } from './enforcement/approval_enforcement.ts'
import type { SecretAccess } from './source/resource_source.ts'
import type { StoreAccess } from './rows/store_access.ts'

/** What reconcilers are wired with, once, in `main.ts`. */
export interface ReconcilerDeps {
  store: StoreAccess
  rows: Rows
  secrets: SecretAccess
  passwords: PasswordHasher
  log: Logger
  /** Public URL of the server, without a slash at its end; issuers begin with it. */
  baseUrl: string
  keyringNamespace: string
  /** The keys that licenses may be signed with. */
  licenseKeys: readonly LicenseKey[]
  /** Whether decisions are held by admission policies, as far as is known at this moment. */
  approvalEnforcement: () => ApprovalEnforcement
  /** For metrics: told when a decision is recorded and when roles are granted by decision, with the time since the request. */
  waited?: (until: 'decision' | 'grant', seconds: number) => void
  /** Told what somebody else had changed in a row, once it is put right. */
  drifted?: (what: string) => void
}
