/** The last time that RFC 3339 can express. */
const END_OF_TIME = Date.parse('9999-12-31T23:59:59.999Z')

/** Milliseconds of an RFC 3339 time. A time that Date cannot parse (a leap second) is 0: it ends what it bounds. */
export function millis(time: string): number {
  const parsed = Date.parse(time)
  return Number.isNaN(parsed) ? 0 : parsed
}

/** `time` plus `seconds`, at most the last time that RFC 3339 can express. */
export function secondsAfter(time: string, seconds: number): string {
  return new Date(Math.min(millis(time) + seconds * 1000, END_OF_TIME)).toISOString()
}

/** The earlier of two times; undefined is never. */
export function earlier(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return millis(one) <= millis(other) ? one : other
}

/** Whether `end` is now or in the past; undefined never is. */
export function isOver(end: string | undefined, now: Date): boolean {
  return end !== undefined && millis(end) <= now.getTime()
}
