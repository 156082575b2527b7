import type { SigningAlgorithm } from './jws.ts'
import { generateEncryptionKey, generateRefreshKey, generateSigningKey } from './generate.ts'
import type { Keyring } from './keyring.ts'
import {
  addEncryptionKey,
  addRefreshKey,
  addSigningKey,
  planEncryption,
  planRefresh,
  planSigning,
  type KeyChange,
  type NewKey,
  type Plan,
  type ReplicaKeys,
  type RotationSettings,
} from './rotation.ts'

export interface Advance {
  /** The same object when there is nothing to write. */
  keyring: Keyring
  changes: (KeyChange | { kind: NewKey['kind']; key: string; step: 'created' })[]
  recheckAt?: Date
}

/**
 * Takes every kind of key one step further and makes the keys that are wanted. The caller writes the keyring, records
 * the versions in it, and calls again with those in `settings.seen`, until nothing changes: an encryption key is
 * written, then recorded, then used.
 */
export async function advanceKeyring(
  keyring: Keyring,
  algorithm: SigningAlgorithm,
  now: Date,
  liveReplicas: readonly ReplicaKeys[],
  settings: RotationSettings,
): Promise<Advance> {
  const changes: Advance['changes'] = []
  const rechecks: number[] = []
  let present = keyring
  const carryOut = async (plan: Plan) => {
    present = plan.keyring
    changes.push(...plan.changes)
    if (plan.recheckAt) rechecks.push(plan.recheckAt.getTime())
    if (!plan.newKey) return
    const made = await makeKey(present, plan.newKey, now)
    present = made.keyring
    changes.push({ kind: plan.newKey.kind, key: made.key, step: 'created' })
  }
  await carryOut(planSigning(present, algorithm, now, liveReplicas, settings))
  await carryOut(planRefresh(present, now, liveReplicas, settings))
  await carryOut(planEncryption(present, now, liveReplicas, settings))
  return { keyring: present, changes, ...(rechecks.length > 0 && { recheckAt: new Date(Math.min(...rechecks)) }) }
}

async function makeKey(keyring: Keyring, wanted: NewKey, now: Date): Promise<{ keyring: Keyring; key: string }> {
  if (wanted.kind === 'signing') {
    const key = await generateSigningKey(wanted.alg, now)
    return { keyring: addSigningKey(keyring, wanted, key), key: key.kid }
  }
  if (wanted.kind === 'refresh') {
    const key = generateRefreshKey(now)
    return { keyring: addRefreshKey(keyring, wanted, key), key: key.kid }
  }
  const key = generateEncryptionKey(wanted.version, now)
  return { keyring: addEncryptionKey(keyring, wanted, key), key: String(key.version) }
}
