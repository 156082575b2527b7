import { verifyLicense } from '../../keyring/license.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { falseCondition, trueCondition } from '../controller/condition.ts'
import type { ConditionState } from '../controller/condition.ts'
import { referencedValue, unusableValue, utf8 } from '../view/referenced_secret.ts'
import type { RealmResource } from '../view/resource_types.ts'

/** The state of a realm's license at one time. */
export interface LicenseState {
  condition: ConditionState
  /** Absent when the license is not valid. */
  expiresAt?: Date
  /** Why the license cannot be used, for the log. */
  detail?: string | undefined
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

  const name = { namespace: metadata.namespace, name: ref.name }
  const unusable = (detail: string): LicenseState => {
    const problem = unusableValue('license', name, ref.key, detail)
    return { ...invalid(problem.reason, problem.message), detail: problem.detail }
  }
  const value = await referencedValue(secrets, name, ref.key)
  if (!value.found) return unusable(value.detail)
  const verdict = await verifyLicense(utf8(value.bytes) ?? '', licenseKeys, { realm, now })
  if (!verdict.valid) {
    // Until its signature is verified, the entry may be any other secret.
    const isLicense = !['Malformed', 'UnknownKey'].includes(verdict.reason)
    return isLicense ? invalid(`License${verdict.reason}`, verdict.message) : unusable(verdict.message)
  }

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
