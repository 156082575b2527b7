import { OAuthError } from '../http/oauth_error.ts'
import type { Members } from './request_body.ts'

/** A value to encrypt, in the form in which it was given. */
export interface PlainItem {
  field: string
  value: string | Buffer
}

export interface EncryptedItem {
  field: string
  ciphertext: string
}

/** @throws OAuthError 400 unless there is a field and exactly one of `value` and `valueBase64` */
export function readPlainItem(item: Members): PlainItem {
  const field = readText(item, 'field')
  const isText = Object.hasOwn(item, 'value')
  if (isText === Object.hasOwn(item, 'valueBase64')) {
    throw new OAuthError('invalid_request', 'Exactly one of value and valueBase64 is needed')
  }
  return { field, value: isText ? readText(item, 'value') : readBytes(readText(item, 'valueBase64')) }
}

/** @throws OAuthError 400 unless there are a field and a ciphertext; what the ciphertext holds is looked at later */
export function readEncryptedItem(item: Members): EncryptedItem {
  return { field: readText(item, 'field'), ciphertext: readText(item, 'ciphertext') }
}

const MAX_ID_LENGTH = 255

/** Absent when the item has none, so that it can be spread into a result. */
export interface ItemId {
  id?: string | number
}

/**
 * What the sender calls an item of a batch, told back with its result.
 * @throws OAuthError 400 for anything but a short text or an integer
 */
export function readItemId(item: Members): ItemId {
  if (!Object.hasOwn(item, 'id')) return {}
  const { id } = item
  if (typeof id === 'number' && Number.isSafeInteger(id)) return { id }
  if (typeof id === 'string' && id.length <= MAX_ID_LENGTH && id.isWellFormed()) return { id }
  throw new OAuthError('invalid_request', `id must be an integer or a text of at most ${MAX_ID_LENGTH} characters`)
}

/** A lone surrogate has no UTF-8, so it could not come back as it was sent. */
function readText(item: Members, member: string): string {
  const text = Object.hasOwn(item, member) ? item[member] : undefined
  if (typeof text === 'string' && text.isWellFormed()) return text
  throw new OAuthError('invalid_request', `${member} must be a text without lone surrogates`)
}

/** RFC 4648 section 4, with padding, and only the one text that stands for these bytes. */
function readBytes(base64: string): Buffer {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') === base64) return bytes
  throw new OAuthError('invalid_request', 'valueBase64 must be base64 with padding')
}
