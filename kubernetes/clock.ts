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
