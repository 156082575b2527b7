import type { Deps } from '../deps.ts'
import { decryptValue } from '../encryption/cipher.ts'
import { fieldAction } from '../encryption/field_action.ts'
import { readEncryptedItem } from '../encryption/item.ts'
import { requireDecryptionAvailable } from '../encryption/preconditions.ts'
import { refusedDecryption } from '../encryption/refusals.ts'
import type { Action } from '../http/http.ts'

/** Gives back values in the form in which they were given, to callers who hold the field's decrypting role. */
export function decrypt(deps: Deps): Action {
  return fieldAction(deps, {
    uses: ['decrypt'],
    requirePreconditions: requireDecryptionAvailable,
    readItem: readEncryptedItem,
    requireWithinLimits: () => {},
    limitsFailures: true,

    apply({ ciphertext }, field, keyring, subject) {
      const opened = decryptValue(keyring, { ...field, sub: subject }, ciphertext)
      if (!opened.ok) throw refusedDecryption(opened.error)
      const { value, keyVersion, stale } = opened
      const given = typeof value === 'string' ? { value } : { valueBase64: value.toString('base64') }
      return { field: field.field, ...given, keyVersion, stale }
    },
  })
}
