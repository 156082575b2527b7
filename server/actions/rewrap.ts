import type { Deps } from '../deps.ts'
import { decryptField, encryptField, fieldAction } from '../encryption/field_operation.ts'
import { requireDecryptionAvailable } from '../encryption/permission.ts'
import { readEncryptedItem } from '../encryption/request_body.ts'
import type { Action, BearerRequest } from '../http/request.ts'

/**
 * Encrypts a ciphertext again under the primary key, with its binding and form; the value never leaves this process. It
 * maintains stored values, so it is available where decrypting is.
 */
export function rewrap(deps: Deps): Action<BearerRequest> {
  return fieldAction(deps, {
    uses: ['encrypt', 'decrypt'],
    requireAvailable: requireDecryptionAvailable,
    readItem: readEncryptedItem,
    limitsFailures: true,

    apply({ ciphertext }, call) {
      const { name: field } = call.field
      // A ciphertext under the primary key is opened as well, so that a damaged one is an error.
      const opened = decryptField(call, ciphertext)
      if (!opened.stale) return { field, ciphertext, keyVersion: opened.keyVersion, rewrapped: false }

      const encrypted = encryptField(call, opened.value)
      return { field, ciphertext: encrypted.ciphertext, keyVersion: encrypted.keyVersion, rewrapped: true }
    },
  })
}
