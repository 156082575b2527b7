/**
 * Decodes base64url (RFC 4648 section 5, no padding). Undefined unless the text is the canonical one of its bytes: Node's
 * decoder skips unknown characters and ignores left-over bits, so two texts could mean one value.
 */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

/** The text is not JSON, is nested too deep, or an object in it has a member twice or `__proto__`. Quotes no input. */
export class StrictJsonError extends Error {
  override readonly name = 'StrictJsonError'
}

/**
 * JSON.parse for input (RFC 8259) that refuses what parsers disagree about: a repeated member, `__proto__`, and nesting
 * beyond `maxDepth` (an object or array is one level).
 * @param maxValues about as many values, empty ones included, may be in the text: small values cost a hundred times as
 * much time as the same length of text
 * @throws StrictJsonError, whose message quotes no input, unlike that of JSON.parse
 */
export function parseStrictJson(text: string, maxDepth: number, maxValues = Number.POSITIVE_INFINITY): unknown {
  let value: unknown
  requireFewValues(text, maxValues)
  try {
    value = JSON.parse(text)
  } catch {
    throw new StrictJsonError('not valid JSON')
  }
  checkMembers(text, maxDepth)
  return value
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** As parseStrictJson, for bytes: they must be UTF-8 without a byte order mark. */
export function parseStrictJsonBytes(bytes: Uint8Array, maxDepth: number): unknown {
  let text: string
  try {
    text = UTF8.decode(bytes)
  } catch {
    throw new StrictJsonError('not valid UTF-8')
  }
  return parseStrictJson(text, maxDepth)
}

/** True for an object; null and arrays are none. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b

/** Each value but the first follows one of these signs. The text may be no JSON. */
function requireFewValues(text: string, maxValues: number): void {
  let values = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === COMMA || code === OPEN_BRACE || code === OPEN_BRACKET) values += 1
    if (values > maxValues) throw new StrictJsonError(`more than ${maxValues} values`)
  }
}

/** The text is valid JSON, so strings, brackets and commas are enough to find each member. */
function checkMembers(text: string, maxDepth: number): void {
  // One entry for each open bracket: the names seen so far for an object, undefined for an array.
  const open: (Set<string> | undefined)[] = []
  let nameComesNext = false
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at)
        if (nameComesNext) {
          addName(open[open.length - 1], text.slice(at, end + 1))
          nameComesNext = false
        }
        at = end
        break
      }
      case OPEN_BRACE:
        open.push(new Set())
        nameComesNext = true
        break
      case OPEN_BRACKET:
        open.push(undefined)
        nameComesNext = false
        break
      case 0x7d: // }
      case 0x5d: // ]
        open.pop()
        nameComesNext = false
        break
      case COMMA:
        nameComesNext = open[open.length - 1] !== undefined
        break
      default:
        break
    }
    if (open.length > maxDepth) throw new StrictJsonError(`nested deeper than ${maxDepth} levels`)
  }
}

function addName(names: Set<string> | undefined, quoted: string): void {
  const name = quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1)
  if (name === '__proto__') throw new StrictJsonError('an object names the member __proto__')
  if (!names || names.has(name)) throw new StrictJsonError('an object names a member twice')
  names.add(name)
}

/** Index of the closing quote of the string that opens at `start`; the end of the text when there is none. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}
