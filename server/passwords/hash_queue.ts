import pLimit from 'p-limit'
import type { PasswordHashing } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'

/** A reserved place in the queue. */
export interface Reservation {
  /** Runs `work` when the queue reaches it. Call it once at most. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
  /** Gives up the place unless `run` was called. */
  leave(): void
}

export interface HashQueue {
  /**
   * Reserves a place before any other work for the request, so that a refused request costs nothing.
   * @throws OAuthError 503 when more than the bound of work waits
   */
  enter(cost: PasswordHashing): Reservation
  /** How many places are reserved or in use. */
  length(): number
}

/** The initial estimate for one pass over one KiB; each hash corrects it. */
const INITIAL_SECONDS_PER_UNIT = 5e-7
/** The weight of the newest hash in the estimate. */
const NEWEST = 0.1

/**
 * Runs `concurrency` hashes at a time, in order: more than one for each core makes all of them slower. Refuses a hash
 * when the waiting ones would take more than `maxSeconds`, estimated from the latest hashes.
 */
export function createHashQueue({ concurrency, maxSeconds }: { concurrency: number; maxSeconds: number }): HashQueue {
  const limit = pLimit(concurrency)
  let secondsPerUnit = INITIAL_SECONDS_PER_UNIT
  let unitsAhead = 0
  let reserved = 0

  async function measured<Result>(units: number, work: () => Promise<Result>): Promise<Result> {
    const start = performance.now()
    try {
      return await work()
    } finally {
      const taken = (performance.now() - start) / 1000 / units
      secondsPerUnit += (taken - secondsPerUnit) * NEWEST
    }
  }

  return {
    length: () => reserved,
    enter({ memoryKiB, iterations }) {
      const units = memoryKiB * iterations
      const seconds = ((unitsAhead + units) * secondsPerUnit) / concurrency
      // An empty queue accepts a hash of any cost.
      if (reserved > 0 && seconds > maxSeconds) throw queueFull(maxSeconds)
      unitsAhead += units
      reserved += 1
      let isUsed = false
      let isReserved = true
      const release = (): void => {
        if (!isReserved) return
        isReserved = false
        unitsAhead -= units
        reserved -= 1
      }
      return {
        leave() {
          if (!isUsed) release()
        },
        run(work) {
          isUsed = true
          return limit(() => measured(units, work)).finally(release)
        },
      }
    },
  }
}

function queueFull(seconds: number): OAuthError {
  return new OAuthError('temporarily_unavailable', 'Too many logins are waiting', {
    headers: { 'Retry-After': String(Math.ceil(seconds)) },
  })
}
