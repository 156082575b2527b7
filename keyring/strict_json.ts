/** The text is not JSON, is nested too deep, or an object in it names a member twice or `__proto__`. Quotes nothing of the text. */
export class StrictJsonError extends Error {
  override readonly name = 'StrictJsonError'
}

/**
 * JSON.parse for text from outside (RFC 8259), refusing what readers disagree about: a member named twice, `__proto__`,
 * and nesting beyond `maxDepth` (an object or array is one level).
 * @throws StrictJsonError, whose message never holds a piece of the text, unlike JSON.parse's own
 */
export function parseStrictJson(text: string, maxDepth: number): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new StrictJsonError('not valid JSON')
  }
  checkMembers(text, maxDepth)
  return value
}

/** As parseStrictJson, for bytes: they must be UTF-8 without a byte order mark. */
export function parseStrictJsonBytes(bytes: Uint8Array, maxDepth: number): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new StrictJsonError('not valid UTF-8')
  }
  return parseStrictJson(text, maxDepth)
}

/** True for an object, which null and a list are not. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Walks text that is known to be valid JSON, so only strings and brackets need to be looked at. */
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
      case 0x7b: // {
        open.push(new Set())
        nameComesNext = true
        break
      case 0x5b: // [
        open.push(undefined)
        nameComesNext = false
        break
      case 0x7d: // }
      case 0x5d: // ]
        open.pop()
        nameComesNext = false
        break
      case 0x2c: // ,
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

/** Index of the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) at += code === BACKSLASH ? 2 : 1
  return at
}
