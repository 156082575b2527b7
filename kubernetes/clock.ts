/** Timers, so that tests bring their own time. */
export interface Clock {
  /** Milliseconds; only differences mean something. */
  now(): number
  /** Calls `then` once, after so many milliseconds; the answer cancels it. */
  after(millis: number, then: () => void): () => void
}

/** Time as it passes. Its timers do not keep a process alive that has nothing else to do. */
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
