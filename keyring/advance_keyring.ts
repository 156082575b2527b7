import { generateEncryptionKey, generateRefreshKey, generateSigningKey } from './generate.ts'
import type { Keyring, TokenKey } from './keyring.ts'
import {
  planEncryption,
  planRefresh,
  planSigning,
  type KeyChange,
  type NewKey,
  type Plan,
  type RotationInput,
} from './rotation.ts'

export interface Advance {
  /** The same object when nothing has to be written. */
  keyring: Keyring
  changes: (KeyChange | { kind: NewKey['kind']; key: string; step: 'created' })[]
  recheckAt?: Date
}

/**
 * Takes the keys of each kind one step further and creates the keys that are due. The caller writes the keyring, records
 * its encryption key versions, and calls again with those in `input.seen`, until nothing changes: an encryption key
 * is first written, then recorded, then used.
 */
export async function advanceKeyring(keyring: Keyring, input: RotationInput): Promise<Advance> {
  const changes: Advance['changes'] = []
  const rechecks: number[] = []
  let current = keyring
  const carryOut = async (plan: Plan): Promise<void> => {
    current = plan.keyring
    changes.push(...plan.changes)
    if (plan.recheckAt) rechecks.push(plan.recheckAt.getTime())
    if (!plan.newKey) return
    const created = await addNewKey(current, plan.newKey, input.now)
    current = created.keyring
    changes.push({ kind: plan.newKey.kind, key: created.key, step: 'created' })
  }
  for (const plan of [planSigning, planRefresh, planEncryption]) await carryOut(plan(current, input))
  return { keyring: current, changes, ...(rechecks.length > 0 && { recheckAt: new Date(Math.min(...rechecks)) }) }
}

/** Creates a planned key. The demand that it answers is recorded, so that one annotation value rotates once. */
async function addNewKey(keyring: Keyring, planned: NewKey, now: Date): Promise<{ keyring: Keyring; key: string }> {
  const { kind, state, onDemand } = planned
  const rotated = onDemand ? { ...keyring.rotated, [kind]: onDemand } : keyring.rotated
  if (kind === 'signing') {
    const key = inState(state, await generateSigningKey(planned.alg, now))
    return { keyring: { ...keyring, rotated, signing: [...keyring.signing, key] }, key: key.kid }
  }
  if (kind === 'refresh') {
    const key = inState(state, generateRefreshKey(now))
    return { keyring: { ...keyring, rotated, refresh: [...keyring.refresh, key] }, key: key.kid }
  }
  const key = generateEncryptionKey(planned.version, now)
  return { keyring: { ...keyring, rotated, encryption: [...keyring.encryption, key] }, key: String(key.version) }
}

function inState<Key extends TokenKey>(state: 'pending' | 'active', key: Key): Key {
  return state === 'active' ? { ...key, state, activatedAt: key.createdAt } : key
}
