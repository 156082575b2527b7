import type { Clock } from '../../kubernetes/clock.ts'

/** Time that stands still until it is told to pass. */
export interface FakeClock extends Clock {
  /** Lets time pass, running what becomes due in its order, and what that starts. */
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

/** Promises that can go on do so. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
