import type { Deps } from '../deps.ts'
import { MAX_VALUE_BYTES } from '../encryption/ciphertext.ts'
import { encryptField, fieldAction } from '../encryption/field_operation.ts'
import type { FieldCall } from '../encryption/field_operation.ts'
import { requireEncryptionAvailable } from '../encryption/permission.ts'
import { readPlainItem } from '../encryption/request_body.ts'
import type { PlainItem } from '../encryption/request_body.ts'
import type { Action, BearerRequest } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'

/** Encrypts values of fields for callers who hold the field's encrypting role. */
export function encrypt(deps: Deps): Action<BearerRequest> {
  return fieldAction(deps, {
    uses: ['encrypt'],
    requireAvailable: requireEncryptionAvailable,
    readItem: readPlainItem,
    limitsFailures: false,

    apply({ value }, call) {
      requireWithinField(value, call)
      const { ciphertext, keyVersion } = encryptField(call, value)
      return { field: call.field.name, ciphertext, keyVersion }
    },
  })
}

/**
 * Only its subject can read a value that is bound to a subject, so the user's subject must be one that never changes.
 * @throws OAuthError 403 `subject_not_pinned`, 413 `value_too_large`
 */
function requireWithinField(value: PlainItem['value'], { field, user }: FieldCall): void {
  if (field.binding === 'Subject' && !user.subjectPinned) {
    throw new OAuthError('subject_not_pinned', 'This field is bound to its subject, and the user has no fixed one')
  }
  const limit = Math.min(field.maxValueBytes, MAX_VALUE_BYTES)
  const bytes = typeof value === 'string' ? Buffer.byteLength(value, 'utf8') : value.length
  if (bytes > limit) throw new OAuthError('value_too_large', `A value of this field has at most ${limit} bytes`)
}
