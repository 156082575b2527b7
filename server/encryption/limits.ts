import type { EncryptionField } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { GoodToken } from '../tokens/verify_access_token.ts'
import { MAX_VALUE_BYTES } from './ciphertext.ts'
import type { PlainItem } from './item.ts'

/**
 * What is bound to a subject can be read by that subject alone, so the subject must be one that never changes.
 * @throws OAuthError 403 `subject_not_pinned`, 413 `value_too_large`
 */
export function requireWithinField({ value }: PlainItem, field: EncryptionField, { user }: GoodToken): void {
  if (field.binding === 'Subject' && !user.subjectPinned) {
    throw new OAuthError('subject_not_pinned', 'This field is bound to its subject, and the user has no fixed one')
  }
  const limit = Math.min(field.maxValueBytes, MAX_VALUE_BYTES)
  const bytes = typeof value === 'string' ? Buffer.byteLength(value, 'utf8') : value.length
  if (bytes > limit) throw new OAuthError('value_too_large', `A value of this field has at most ${limit} bytes`)
}
