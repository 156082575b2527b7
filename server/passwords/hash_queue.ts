import type { PasswordHashing } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'

/** A reserved place; it is used once, or left. */
export interface Place {
  /** Runs when it is this place's turn. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
  /** Gives the place up unless it was used. */
  leave(): void
}

export interface HashQueue {
  /**
   * Reserves a place before anything else is done for the request, so that what cannot be served costs nothing.
   * @throws OAuthError 503 when more than the bound of work waits
   */
  enter(cost: PasswordHashing): Place
  /** How many places are reserved or in use. */
  length(): number
}

/** A first guess for one pass over one KiB; corrected by every hash. */
const SECONDS_A_UNIT = 5e-7
/** The weight of the newest hash in the estimate. */
const NEWEST = 0.1

/**
 * Lets `concurrency` hashes run at a time, in order: more than one for each core is slower for everybody. It refuses
 * when what waits would take more than `maxSeconds`, by what hashes took lately.
 */
export function createHashQueue(options: { concurrency: number; maxSeconds: number }): HashQueue {
  const { concurrency, maxSeconds } = options
  const waiting: (() => void)[] = []
  let secondsAUnit = SECONDS_A_UNIT
  let unitsAhead = 0
  let places = 0
  let running = 0

  async function takeTurn(): Promise<void> {
    if (running < concurrency) running += 1
    // The turn is handed over by whoever ends, so `running` stays as it is.
    else await new Promise<void>((resolve) => waiting.push(resolve))
  }

  function endTurn(): void {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }

  return {
    length: () => places,
    enter({ memoryKiB, iterations }) {
      const units = memoryKiB * iterations
      const seconds = ((unitsAhead + units) * secondsAUnit) / concurrency
      // Whatever one hash costs, an empty queue takes it.
      if (places > 0 && seconds > maxSeconds) throw tooMuchWaits(maxSeconds)
      unitsAhead += units
      places += 1
      let isUsed = false
      let isLeft = false
      const leave = (): void => {
        if (isLeft) return
        isLeft = true
        unitsAhead -= units
        places -= 1
      }
      return {
        leave() {
          if (!isUsed) leave()
        },
        async run(work) {
          isUsed = true
          await takeTurn()
          const start = performance.now()
          try {
            return await work()
          } finally {
            const taken = (performance.now() - start) / 1000 / units
            secondsAUnit += (taken - secondsAUnit) * NEWEST
            endTurn()
            leave()
          }
        },
      }
    },
  }
}

function tooMuchWaits(seconds: number): OAuthError {
  return new OAuthError('temporarily_unavailable', 'Too many logins are waiting', {
    headers: { 'Retry-After': String(Math.ceil(seconds)) },
  })
}
