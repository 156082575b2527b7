import { parseStrictJson, StrictJsonError } from '../../keyring/strict_parsing.ts'
import { OAuthError } from '../http/oauth_error.ts'

/** An object as it was sent; unknown members are ignored. */
export type Members = Readonly<Record<string, unknown>>

/** One item, or a batch. An item of a batch that is no object is an error of that item alone. */
export type RequestBody = { batch: false; item: Members } | { batch: true; items: readonly unknown[] }

const MAX_ITEMS = 256
const MAX_DEPTH = 8
/** More than any batch needs; a body of 1 MiB that is refused for its values takes a millisecond or two. */
const MAX_VALUES = 32_768

/**
 * Reads the JSON body of encrypt, decrypt and rewrap.
 * @throws OAuthError 400 for anything but an object of one of the two shapes, 413 for too many items
 */
export function readRequestBody(json: string | undefined): RequestBody {
  const body = parse(json ?? '')
  if (!isMembers(body)) throw new OAuthError('invalid_request', 'The body must be a JSON object')
  if (!Object.hasOwn(body, 'items')) return { batch: false, item: body }
  if (Object.hasOwn(body, 'field')) throw new OAuthError('invalid_request', 'Give either field or items, not both')
  const { items } = body
  if (!Array.isArray(items) || items.length === 0) {
    throw new OAuthError('invalid_request', `items must be a list of 1 to ${MAX_ITEMS} objects`)
  }
  if (items.length > MAX_ITEMS) throw new OAuthError('batch_too_large', `A batch has at most ${MAX_ITEMS} items`)
  return { batch: true, items }
}

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parse(text: string): unknown {
  try {
    return parseStrictJson(text, MAX_DEPTH, MAX_VALUES)
  } catch (error) {
    // A StrictJsonError repeats nothing of the text.
    const reason = error instanceof StrictJsonError ? error.message : 'not valid JSON'
    throw new OAuthError('invalid_request', `The body was not understood: ${reason}`)
  }
}

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

/** @throws OAuthError 400 unless there are a field and a ciphertext; the cipher parses the ciphertext */
export function readEncryptedItem(item: Members): EncryptedItem {
  return { field: readText(item, 'field'), ciphertext: readText(item, 'ciphertext') }
}

const MAX_ID_LENGTH = 255

/** Absent when the item has none, so that it can be spread into a result. */
export interface ItemId {
  id?: string | number
}

/**
 * The sender's name for an item of a batch; the result carries it.
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

/** RFC 4648 section 4, with padding, and only the canonical text of these bytes. */
function readBytes(base64: string): Buffer {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') === base64) return bytes
  throw new OAuthError('invalid_request', 'valueBase64 must be base64 with padding')
}
