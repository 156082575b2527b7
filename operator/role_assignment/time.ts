/** The last moment that RFC 3339 can name. */
const END_OF_TIME = Date.parse('9999-12-31T23:59:59.999Z')

/** Milliseconds of an RFC 3339 time. What cannot be read (a leap second, for one) is long past, so that it ends what it bounds. */
export function millis(time: string): number {
  const parsed = Date.parse(time)
  return Number.isNaN(parsed) ? 0 : parsed
}

/** A time that many seconds after another one, no later than a date can be written. */
export function secondsAfter(time: string, seconds: number): string {
  return new Date(Math.min(millis(time) + seconds * 1000, END_OF_TIME)).toISOString()
}

/** The earlier of two ends; undefined is never. */
export function earlier(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return millis(one) <= millis(other) ? one : other
}

/** Whether an end has come. The moment itself is past it. */
export function isOver(end: string | undefined, now: Date): boolean {
  return end !== undefined && millis(end) <= now.getTime()
}
