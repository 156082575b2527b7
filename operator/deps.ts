import type { LicenseKey } from '../keyring/license.ts'
import type { ApprovalEnforcement } from './enforcement/approval_enforcement.ts'
import type { OperatorMetrics } from './metrics.ts'
import type { Rows } from './rows/rows.ts'
import type { StoreAccess } from './rows/store_access.ts'
import type { SecretAccess } from './source/resource_source.ts'
import type { PasswordHasher } from './user/password_hash.ts'

/** What reconcilers need. Each names the members that it uses. */
export interface ReconcilerDeps {
  store: StoreAccess
  rows: Rows
  secrets: SecretAccess
  passwords: PasswordHasher
  /** Public URL of the server, without a slash at its end; issuers begin with it. */
  baseUrl: string
  keyringNamespace: string
  /** The keys that verify licenses. */
  licenseKeys: readonly LicenseKey[]
  /** Whether admission policies are known to restrict who may decide, at this moment. */
  approvalEnforcement: () => ApprovalEnforcement
  metrics: Pick<OperatorMetrics, 'reconciled' | 'waited' | 'realmExpires'>
  /** Reports a row that another client of the database changed. */
  reportDrift: (row: string) => void
}
