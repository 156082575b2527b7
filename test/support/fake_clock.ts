import type { Clock } from '../../kubernetes/clock.ts'

/** A clock that moves only by `pass`. */
export interface FakeClock extends Clock {
  /** Moves the time forward and runs all timers that are due, in order, also those that they start. */
  pass(millis: number): Promise<void>
}

export function fakeClock(): FakeClock {
  let time = 0
  let timers: { due: number; run: () => void }[] = []
  return {
    now: () => time,
    after(millis, run) {
      const timer = { due: time + millis, run }
      timers.push(timer)
      return () => {
        timers = timers.filter((each) => each !== timer)
      }
    },
    async pass(millis) {
      const end = time + millis
      await settle()
      for (;;) {
        const next = timers.filter(({ due }) => due <= end).toSorted((a, b) => a.due - b.due)[0]
        if (!next) break
        timers = timers.filter((each) => each !== next)
        time = Math.max(time, next.due)
        next.run()
        await settle()
      }
      time = end
    },
  }
}

/** Runs the promise callbacks that are pending. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
