/** The message of an Event holds 1,024 bytes; conditions are read in a terminal. */
const MAX_MESSAGE = 1_000
const MAX_NAME = 80
const MAX_NAMES = 8

// Control and format characters (line ends, ANSI escapes, direction marks, zero width) and line separators: the author of
// a name could use them to forge lines in the terminal of a reader.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu

/** A name or text from a resource for use in a message: one line, printable, bounded. */
export function printable(text: string, max = MAX_NAME): string {
  // Cut first, so that 32 KB cost nothing; by code point, so that no character is cut in half.
  const points = Array.from(text.slice(0, max * 2).toWellFormed())
  const isLong = points.length > max || text.length > max * 2
  const shown = (isLong ? points.slice(0, max - 1) : points).join('').replace(UNPRINTABLE, '\uFFFD')
  return isLong ? `${shown}…` : shown
}

/** `a, b and 3 more`. */
export function names(list: readonly string[]): string {
  const shown = list.slice(0, MAX_NAMES).map((name) => printable(name))
  const rest = list.length - shown.length
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ')
}

/** The non-empty parts of a message as one bounded line. */
export function sentence(...parts: (string | false | undefined)[]): string {
  return printable(parts.filter(Boolean).join('; '), MAX_MESSAGE)
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}
