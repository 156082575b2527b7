import { LRUCache } from 'lru-cache'

/** Counts failures of each key within a minute, in this process. */
export interface FailureLimiter {
  /** Seconds until the key may try again; 0 when it may now. */
  secondsToWait(key: string): number
  /** Counts one failure. The returned function takes it back. */
  count(key: string): () => void
}

/** A window opens with its first failure and lasts one minute. */
interface Window {
  failures: number
}

const WINDOW_MILLIS = 60_000
const MAX_KEYS = 100_000

/** At most `limit` failures a minute and key; 0 turns the limit off. At the bound, the least recently used key is dropped. */
export function createFailureLimiter(limit: number, now: () => Date): FailureLimiter {
  if (limit === 0) return { secondsToWait: () => 0, count: () => () => {} }
  const windows = new LRUCache<string, Window>({
    max: MAX_KEYS,
    ttl: WINDOW_MILLIS,
    ttlResolution: 0,
    perf: { now: () => now().getTime() },
  })
  const millisLeft = (key: string): number => {
    const millis = windows.getRemainingTTL(key)
    // After the clock was set back, a window must not last longer than a minute.
    return millis > WINDOW_MILLIS ? 0 : Math.max(0, millis)
  }
  return {
    secondsToWait(key) {
      const millis = millisLeft(key)
      return millis > 0 && (windows.get(key)?.failures ?? 0) >= limit ? Math.ceil(millis / 1000) : 0
    },
    count(key) {
      const open = millisLeft(key) > 0 ? windows.get(key) : undefined
      const window = open ?? { failures: 0 }
      if (!open) windows.set(key, window)
      window.failures += 1
      return () => void (window.failures -= 1)
    },
  }
}
