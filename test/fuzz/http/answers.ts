import type { WireAnswer } from './wire.ts'

/** Throws unless this answer to a request keeps the rules of every answer. */
export function checkAnswer({ status, headers, body }: WireAnswer): void {
  const problems = [
    status >= 500 && status !== 503 && 'a failure of the server',
    !headers.has('x-request-id') && 'no X-Request-Id',
    headers.get('x-content-type-options') !== 'nosniff' && 'no X-Content-Type-Options',
    !headers.has('cache-control') && 'no Cache-Control',
    body !== '' && headers.get('content-type') !== 'application/json' && 'not JSON',
    body !== '' && !isObject(body) && 'not a JSON object',
    status >= 400 && /\bat .*\.ts\b|node_modules|Error:/.test(body) && 'an error of the code',
  ].filter((problem) => problem !== false)
  if (problems.length > 0) throw new Error(`${problems.join(', ')}: ${status} ${body.slice(0, 500)}`)
}

function isObject(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

/** How often each status was answered. */
export class StatusCounts {
  readonly #counts = new Map<string, number>()

  add(what: number | string): void {
    this.#counts.set(String(what), (this.#counts.get(String(what)) ?? 0) + 1)
  }

  text(): string {
    return [...this.#counts]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([what, count]) => `${what}: ${count.toLocaleString('en')}`)
      .join(', ')
  }
}
