import type { Deps } from '../deps.ts'
import { decryptValue, encryptValue } from '../encryption/cipher.ts'
import { fieldAction } from '../encryption/field_action.ts'
import { readEncryptedItem } from '../encryption/item.ts'
import { requireDecryptionAvailable } from '../encryption/preconditions.ts'
import { noPrimaryKey, refusedDecryption } from '../encryption/refusals.ts'
import type { Action } from '../http/http.ts'

/**
 * Brings a ciphertext under the primary key, its binding and form kept; the value never leaves this process. It only
 * changes how a stored value is kept, so it goes on where decrypting does.
 */
export function rewrap(deps: Deps): Action {
  return fieldAction(deps, {
    uses: ['encrypt', 'decrypt'],
    requirePreconditions: requireDecryptionAvailable,
    readItem: readEncryptedItem,
    requireWithinLimits: () => {},
    limitsFailures: true,

    apply({ ciphertext }, field, keyring, subject) {
      const context = { ...field, sub: subject }
      // One under the primary key already is opened as well: "nothing to do" must not be said of a text that is broken.
      const opened = decryptValue(keyring, context, ciphertext)
      if (!opened.ok) throw refusedDecryption(opened.error)
      if (!opened.stale) return { field: field.field, ciphertext, keyVersion: opened.keyVersion, rewrapped: false }

      const encrypted = encryptValue(keyring, context, opened.value)
      if (!encrypted.ok) throw noPrimaryKey()
      const { keyVersion } = encrypted
      return { field: field.field, ciphertext: encrypted.ciphertext, keyVersion, rewrapped: true }
    },
  })
}
