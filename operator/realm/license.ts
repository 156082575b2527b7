import { verifyLicense } from '../../keyring/license.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { falseCondition, trueCondition } from '../controller/condition.ts'
import type { ConditionState } from '../controller/condition.ts'
import { referencedValue, utf8 } from '../view/referenced_secret.ts'
import type { RealmResource } from '../view/resource_types.ts'

/** The state of a realm's license at one time. */
export interface LicenseState {
  condition: ConditionState
  /** Absent when the license is not valid. */
  expiresAt?: Date
  /** When the condition changes without an event. */
  changesAt?: Date
}

const EXPIRING_MILLIS = 30 * 86_400_000

/** Verifies the license in the Secret that a Realm names. Throws NotYet while the Secret cannot be read. */
export async function licenseState(
  { metadata, spec }: RealmResource,
  realm: string,
  now: Date,
  { secrets, licenseKeys }: Pick<ReconcilerDeps, 'secrets' | 'licenseKeys'>,
): Promise<LicenseState> {
  const provider = spec.identityProvider
  if (!provider) return invalid('NoIdentityProvider', 'spec.identityProvider is not set')
  const ref = provider.licenseSecretRef
  if (!ref) return invalid('NoLicense', 'spec.identityProvider.licenseSecretRef is not set')

  const value = await referencedValue(secrets, { namespace: metadata.namespace, name: ref.name }, ref.key)
  if (!value.found) return invalid(value.reason, value.message)
  const verdict = await verifyLicense(utf8(value.bytes) ?? '', licenseKeys, { realm, now })
  if (!verdict.valid) return invalid(`License${verdict.reason}`, verdict.message)

  const { expiresAt } = verdict
  const expiringFrom = new Date(expiresAt.getTime() - EXPIRING_MILLIS)
  const until = `the license is valid until ${expiresAt.toISOString()}`
  if (expiringFrom > now) {
    return { condition: trueCondition('LicenseValid', 'Licensed', until), expiresAt, changesAt: expiringFrom }
  }
  const condition = trueCondition('LicenseValid', 'LicenseExpiring', `${until}: renew it`)
  return { condition, expiresAt, changesAt: expiresAt }
}

function invalid(reason: string, message: string): LicenseState {
  return { condition: falseCondition('LicenseValid', reason, message) }
}
