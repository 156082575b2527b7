import type { Clock } from '../../kubernetes/clock.ts'

/** The real clock, except that timers of 10 to 60 seconds fire after 30 ms, and that `jump` moves the time forward. */
export function impatientClock(): Clock & { jump(millis: number): void } {
  let added = 0
  return {
    now: () => performance.now() + added,
    jump(millis) {
      added += millis
    },
    after(millis, run) {
      const timer = setTimeout(run, millis >= 10_000 && millis < 60_000 ? 30 : millis).unref()
      return () => clearTimeout(timer)
    },
  }
}
