import type { Clock } from '../../kubernetes/clock.ts'

/** Time as it passes, but that waits of less than a minute are over at once, and that hours can be added to it. */
export function impatientClock(): Clock & { jump(millis: number): void } {
  let added = 0
  return {
    now: () => performance.now() + added,
    jump(millis) {
      added += millis
    },
    after(millis, then) {
      const timer = setTimeout(then, millis >= 10_000 && millis < 60_000 ? 30 : millis).unref()
      return () => clearTimeout(timer)
    },
  }
}
