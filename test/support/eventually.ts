import { vi } from 'vitest'

/** Tries again until it does not throw: for what comes through the change log, on a machine that may be busy. */
export function eventually<Result>(attempt: () => Promise<Result>): Promise<Result> {
  return vi.waitFor(attempt, { timeout: 15_000, interval: 50 })
}
