/** An Event's message holds 1,024 bytes; a condition's message is read in a terminal. */
const MAX_MESSAGE = 1_000
const MAX_NAME = 80
const MAX_NAMES = 8

// Control and format characters (line ends, ANSI escapes, direction marks, zero width) and line separators: a name may
// be written by somebody who wants a line of their own in somebody else's terminal.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu

/** A name or text of somebody else's, fit to stand in a message: one line, printable, bounded. */
export function printable(text: string, max = MAX_NAME): string {
  // Cut before it is cleaned, so that 32 KB cost nothing; by code point, so that none is cut in half.
  const points = Array.from(text.slice(0, max * 2).toWellFormed())
  const cut = points.length > max || text.length > max * 2
  const kept = (cut ? points.slice(0, max - 1) : points).join('').replace(UNPRINTABLE, '\uFFFD')
  return cut ? `${kept}…` : kept
}

/** `a, b and 3 more`. */
export function names(list: readonly string[]): string {
  const shown = list.slice(0, MAX_NAMES).map((name) => printable(name))
  const rest = list.length - shown.length
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ')
}

/** Parts of a message that have something to say, as one bounded line. */
export function sentence(...parts: (string | false | undefined)[]): string {
  return printable(parts.filter(Boolean).join('; '), MAX_MESSAGE)
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}
