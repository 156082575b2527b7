import { InvalidArgumentError } from 'commander'

const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `24h`, `7d`, or a time as 2026-01-31 or 2026-01-31T12:00:00Z. Throws InvalidArgumentError, which names both forms. */
export function parseSince(text: string, now: Date): Date {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const millis = unit === undefined ? undefined : UNITS[unit]
  if (millis !== undefined) return new Date(now.getTime() - Number(count) * millis)
  // Without a zone a time would mean another one on another machine.
  if (/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text)) {
    const time = new Date(text)
    if (!Number.isNaN(time.getTime())) return time
  }
  throw new InvalidArgumentError('give how long ago, as 24h or 7d, or a time, as 2026-01-31T12:00:00Z')
}
