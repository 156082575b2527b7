/** Time and timers. Passed to everything that waits, so that tests bring their own. */
export interface Clock {
  /** Milliseconds since an arbitrary moment; only differences have a meaning. */
  now(): number
  /** Calls `then` once, after so many milliseconds. Returns a function that cancels the timer. */
  after(millis: number, then: () => void): () => void
}

/** Real time. Its timers do not keep a process alive that has nothing else to do. */
export const processClock: Clock = {
  now: () => performance.now(),
  after(millis, then) {
    const timer = setTimeout(then, millis).unref()
    return () => clearTimeout(timer)
  },
}

/** Resolves after so many milliseconds, or as soon as `signal` is aborted. */
export function pause(clock: Clock, millis: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(millis, end)
    signal.addEventListener('abort', end)
  })
}

/** Milliseconds to wait after so many failures in a row: doubling, capped, and spread over the upper half. */
export function backoffMillis(failures: number, first: number, longest: number, random: () => number): number {
  const whole = Math.min(longest, first * 2 ** Math.min(failures - 1, 30))
  return Math.round(whole / 2 + (whole / 2) * random())
}
