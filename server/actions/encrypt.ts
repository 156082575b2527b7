import type { Deps } from '../deps.ts'
import { encryptValue } from '../encryption/cipher.ts'
import { fieldAction } from '../encryption/field_action.ts'
import { readPlainItem } from '../encryption/item.ts'
import { requireWithinField } from '../encryption/limits.ts'
import { requireEncryptionAvailable } from '../encryption/preconditions.ts'
import { noPrimaryKey } from '../encryption/refusals.ts'
import type { Action } from '../http/http.ts'

/** Encrypts values of fields for callers who hold the field's encrypting role. */
export function encrypt(deps: Deps): Action {
  return fieldAction(deps, {
    uses: ['encrypt'],
    requirePreconditions: requireEncryptionAvailable,
    readItem: readPlainItem,
    requireWithinLimits: requireWithinField,
    limitsFailures: false,

    apply({ value }, field, keyring, subject) {
      const encrypted = encryptValue(keyring, { ...field, sub: subject }, value)
      if (!encrypted.ok) throw noPrimaryKey()
      return { field: field.field, ciphertext: encrypted.ciphertext, keyVersion: encrypted.keyVersion }
    },
  })
}
