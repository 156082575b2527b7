import type { EncryptionPreconditions } from '../../store/realms.ts'
import type { LicenseState } from './license.ts'
import type { ConditionState, RealmResource } from '../view/resource_types.ts'

/** Until when somebody holds `svc-realm-admin`: undefined for nobody, null for no end. */
export type AdminUntil = Date | null | undefined

/** The conditions that say what field encryption waits for. */
export function preconditionConditions(
  realm: RealmResource,
  license: LicenseState,
  adminUntil: AdminUntil,
): ConditionState[] {
  const { enabled, requiredApprovals } = realm.spec.identityGovernance
  return [
    license.condition,
    enabled
      ? is('GovernanceEnabled', 'Enabled', `role assignments need ${requiredApprovals} approval(s)`)
      : isNot('GovernanceEnabled', 'GovernanceDisabled', 'spec.identityGovernance.enabled is false'),
    adminUntil === undefined
      ? isNot('RealmAdminAssigned', 'RealmAdminNotAssigned', 'no RoleAssignment of svc-realm-admin is granted')
      : is(
          'RealmAdminAssigned',
          'Granted',
          adminUntil ? `until ${adminUntil.toISOString()}` : 'svc-realm-admin is granted',
        ),
  ]
}

/** What servers judge by; the two times they compare themselves, so that they hold with the operator down. */
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

/** What is known of the keys when `FieldEncryptionReady` is judged. */
export interface EncryptionFacts {
  wanted: number
  refused: { message: string }[]
  /** Fields that only wait for a keyring that the operator may not write. */
  unlisted: string[]
  keysTrouble: { reason: string; message: string } | undefined
  hasPrimaryKey: boolean
}

/** `FieldEncryptionReady`, naming everything that is missing. */
export function encryptionCondition(unmet: ConditionState[], facts: EncryptionFacts): ConditionState {
  const missing = unmet.filter(({ status }) => status !== 'True')
  const waitsFor = missing.map(({ type, message }) => `${type}: ${message}`).join('; ')
  if (facts.wanted === 0) return no('NoFields', 'spec.fieldEncryption lists no field')
  if (facts.refused.length > 0) {
    return no('FieldTagReused', [...facts.refused.map(({ message }) => message), waitsFor].filter(Boolean).join('; '))
  }
  if (facts.keysTrouble) return no(facts.keysTrouble.reason, facts.keysTrouble.message)
  if (facts.unlisted.length > 0) {
    return no('FieldNotInKeyring', `the keyring is managed elsewhere and does not list: ${facts.unlisted.join(', ')}`)
  }
  const [first] = missing
  if (first) return no(first.reason, waitsFor)
  if (!facts.hasPrimaryKey) return no('NoEncryptionKey', 'the keyring has no primary encryption key')
  return is('FieldEncryptionReady', 'Available', 'values can be encrypted and decrypted')
}

function no(reason: string, message: string): ConditionState {
  return isNot('FieldEncryptionReady', reason, message)
}

function is(type: string, reason: string, message: string): ConditionState {
  return { type, status: 'True', reason, message }
}

function isNot(type: string, reason: string, message: string): ConditionState {
  return { type, status: 'False', reason, message }
}
