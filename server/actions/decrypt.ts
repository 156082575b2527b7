import type { Deps } from '../deps.ts'
import { decryptField, fieldAction } from '../encryption/field_operation.ts'
import { requireDecryptionAvailable } from '../encryption/permission.ts'
import { readEncryptedItem } from '../encryption/request_body.ts'
import type { Action, BearerRequest } from '../http/request.ts'

/** Decrypts values, to text or bytes as they were given, for callers who hold the field's decrypting role. */
export function decrypt(deps: Deps): Action<BearerRequest> {
  return fieldAction(deps, {
    uses: ['decrypt'],
    requireAvailable: requireDecryptionAvailable,
    readItem: readEncryptedItem,
    limitsFailures: true,

    apply({ ciphertext }, call) {
      const { value, keyVersion, stale } = decryptField(call, ciphertext)
      const given = typeof value === 'string' ? { value } : { valueBase64: value.toString('base64') }
      return { field: call.field.name, ...given, keyVersion, stale }
    },
  })
}
