import type { RealmKeys } from '../../../crds/realm.gen.ts'
import type { EncryptionKey, TokenKey } from '../../../keyring/keyring.ts'
import { falseCondition, trueCondition } from '../../controller/condition.ts'
import type { ConditionState } from '../../controller/condition.ts'
import { EXTERNALLY_MANAGED } from './keyring_spec.ts'
import type { KeyringResult } from './reconcile_keyring.ts'

/**
 * `status.keys`: key ids, versions, states and fingerprints; no key bytes. Without a keyring that can be used, the keys
 * of the former status stay: they replace the record of a database that was lost.
 */
export function keyringStatus(
  { keyring, seen }: Pick<KeyringResult, 'keyring' | 'seen'>,
  former: RealmKeys | undefined,
): RealmKeys {
  const present = new Set(keyring?.encryption.map(({ version }) => version))
  const missing = seen.filter(({ version }) => !present.has(version))
  const encryption = [
    ...(keyring?.encryption ?? []).map(({ version, state, fingerprint, ...key }) => ({
      version,
      state,
      fingerprint,
      since: sinceOf({ state, ...key }),
    })),
    ...missing.map(({ version, state, fingerprint }) => ({ version, state: stateOf(state), fingerprint })),
  ]
  return {
    ...(!keyring && former?.signing && { signing: former.signing }),
    ...(!keyring && former?.refresh && { refresh: former.refresh }),
    ...(keyring && {
      signing: keyring.signing.map((key) => ({ ...tokenKey(key), algorithm: key.alg })),
      // The kid of a refresh key is its fingerprint.
      refresh: keyring.refresh.map((key) => ({ ...tokenKey(key), fingerprint: key.kid })),
    }),
    encryption: encryption.toSorted((a, b) => a.version - b.version),
  }
}

/** The condition `KeysReady`. */
export function keysCondition({ keyring, isExternal, problem }: KeyringResult): ConditionState {
  if (problem) return falseCondition('KeysReady', problem.reason, problem.message)
  const kinds = ['signing', 'refresh'] as const
  const lacks = kinds.filter((kind) => !keyring?.[kind].some(({ state }) => state === 'active'))
  if (lacks.length > 0) {
    const message = `the keyring is managed elsewhere and has no active key for: ${lacks.join(', ')}`
    return falseCondition('KeysReady', 'KeyringIncomplete', message)
  }
  if (isExternal) {
    const message = 'the keyring is managed elsewhere: the operator reads it and rotates no key'
    return trueCondition('KeysReady', EXTERNALLY_MANAGED, message)
  }
  return trueCondition('KeysReady', 'KeysAvailable', 'the keyring holds a key of each kind in use')
}

function tokenKey({ kid, state, ...key }: TokenKey) {
  const since = { pending: key.createdAt, active: key.activatedAt, passive: key.passiveAt }[state] ?? key.createdAt
  return { kid, state, since }
}

function sinceOf({ state, ...key }: Pick<EncryptionKey, 'state' | 'createdAt'> & Partial<EncryptionKey>): string {
  const times = {
    pending: key.createdAt,
    primary: key.primaryAt,
    decrypt_only: key.decryptOnlyAt,
    disabled: key.disabledAt,
    destroyed: key.destroyedAt,
  }
  return times[state] ?? key.createdAt
}

function stateOf(text: string): EncryptionKey['state'] {
  const states = ['pending', 'primary', 'decrypt_only', 'disabled', 'destroyed'] as const
  return states.find((state) => state === text) ?? 'decrypt_only'
}
