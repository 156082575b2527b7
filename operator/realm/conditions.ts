import { withinBounds } from '../../store/password_hash.ts'
import { REALM_ADMIN_ROLE } from '../../store/realms.ts'
import type { EncryptionPreconditions } from '../../store/realms.ts'
import type { LicenseState } from './license.ts'
import { falseCondition, trueCondition } from '../controller/condition.ts'
import type { ConditionState } from '../controller/condition.ts'
import type { Governance } from '../role_assignment/decision.ts'
import type { RealmResource } from '../view/resource_types.ts'

/** Until when a User or the group holds `svc-realm-admin`: null without an end, undefined when none does. */
export type AdminUntil = Date | null | undefined

/** The conditions of the preconditions of field encryption. */
export function preconditionConditions(
  governance: Governance,
  license: LicenseState,
  adminUntil: AdminUntil,
): ConditionState[] {
  return [
    license.condition,
    governance.enabled
      ? trueCondition('GovernanceEnabled', 'Enabled', requiredText(governance))
      : falseCondition('GovernanceEnabled', 'GovernanceDisabled', 'spec.identityGovernance.enabled is false'),
    adminUntil === undefined
      ? falseCondition(
          'RealmAdminAssigned',
          'RealmAdminNotAssigned',
          `no RoleAssignment of ${REALM_ADMIN_ROLE} is granted`,
        )
      : trueCondition(
          'RealmAdminAssigned',
          'Granted',
          adminUntil ? `until ${adminUntil.toISOString()}` : `${REALM_ADMIN_ROLE} is granted`,
        ),
  ]
}

function requiredText({ requiredApprovals, extraApprovalForClaims }: Governance): string {
  const required = `role assignments need ${requiredApprovals} approval(s)`
  return extraApprovalForClaims ? `${required}, and one more if the requester is a claim` : required
}

/** For the row. Servers compare the two times themselves, so that an expiry holds while the operator is down. */
export function preconditions(
  conditions: ConditionState[],
  license: LicenseState,
  adminUntil: AdminUntil,
): EncryptionPreconditions {
  return {
    missing: conditions.filter(({ status }) => status !== 'True').map(({ reason }) => reason),
    ...(license.expiresAt && { licenseExpiresAt: license.expiresAt.toISOString() }),
    ...(adminUntil && { realmAdminUntil: adminUntil.toISOString() }),
  }
}

/** What `FieldEncryptionReady` depends on besides the preconditions. */
export interface EncryptionFacts {
  /** Fields in the spec. */
  wanted: number
  refused: { message: string }[]
  /** Fields that an externally managed keyring does not list. */
  unlisted: string[]
  keysProblem: { reason: string; message: string } | undefined
  hasPrimaryKey: boolean
}

/** `FieldEncryptionReady`, with everything that is missing in its message. */
export function encryptionCondition(preconditionStates: ConditionState[], facts: EncryptionFacts): ConditionState {
  const missing = preconditionStates.filter(({ status }) => status !== 'True')
  const waitsFor = missing.map(({ type, message }) => `${type}: ${message}`).join('; ')
  if (facts.wanted === 0) return no('NoFields', 'spec.fieldEncryption lists no field')
  if (facts.refused.length > 0) {
    return no('FieldTagReused', [...facts.refused.map(({ message }) => message), waitsFor].filter(Boolean).join('; '))
  }
  if (facts.keysProblem) return no(facts.keysProblem.reason, facts.keysProblem.message)
  if (facts.unlisted.length > 0) {
    return no('FieldNotInKeyring', `the keyring is managed elsewhere and does not list: ${facts.unlisted.join(', ')}`)
  }
  const [first] = missing
  if (first) return no(first.reason, waitsFor)
  if (!facts.hasPrimaryKey) return no('NoEncryptionKey', 'the keyring has no primary encryption key')
  return trueCondition('FieldEncryptionReady', 'Available', 'values can be encrypted and decrypted')
}

function no(reason: string, message: string): ConditionState {
  return falseCondition('FieldEncryptionReady', reason, message)
}

/** None where the parameters are within the bounds of this version; a Realm stored by a former version may exceed them. */
export function hashingConditions({ spec }: RealmResource): ConditionState[] {
  const { memoryKiB, iterations, parallelism } = spec.passwordHashing
  const used = withinBounds(spec.passwordHashing)
  if (used.memoryKiB === memoryKiB && used.iterations === iterations && used.parallelism === parallelism) return []
  const message =
    'spec.passwordHashing needs more memory or time than a process may use for one hash: passwords are hashed with ' +
    `memoryKiB ${used.memoryKiB}, iterations ${used.iterations}, parallelism ${used.parallelism}`
  return [falseCondition('PasswordHashingWithinBounds', 'Lowered', message)]
}
