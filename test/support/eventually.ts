import { vi } from 'vitest'

/** Repeats the attempt until it does not throw. The deadline leaves room for a busy machine. */
export function eventually<Result>(attempt: () => Promise<Result>): Promise<Result> {
  return vi.waitFor(attempt, { timeout: 120_000, interval: 50 })
}
