import { parseStrictJson, StrictJsonError } from '../../keyring/strict_json.ts'
import { OAuthError } from '../http/oauth_error.ts'

/** An object as it was sent; unknown members are ignored. */
export type Members = Readonly<Record<string, unknown>>

/** One item, or several. An item of a batch that is no object is an error of its own, so it is kept as it is. */
export type RequestBody = { batch: false; item: Members } | { batch: true; items: readonly unknown[] }

export const MAX_ITEMS = 256
const MAX_DEPTH = 8

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
    return parseStrictJson(text, MAX_DEPTH)
  } catch (error) {
    // Its messages say what is wrong and nothing of the text.
    const reason = error instanceof StrictJsonError ? error.message : 'not valid JSON'
    throw new OAuthError('invalid_request', `The body was not understood: ${reason}`)
  }
}
