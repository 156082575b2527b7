import { createFairLimit, hashCost } from '../../process/fair_limit.ts'
import type { Cost } from '../../process/fair_limit.ts'
import type { PasswordHashing } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'

/** A reserved place in the queue. */
export interface Reservation {
  /** Runs `work` when the queue reaches it. Call it once at most. `cost` replaces that of the hash that was entered. */
  run<Result>(work: () => Promise<Result>, cost?: Cost): Promise<Result>
  /** Gives up the place unless `run` was called. */
  leave(): void
}

export interface HashQueue {
  /**
   * Reserves a place before any other work for the request, so that a refused request costs nothing.
   * @throws OAuthError 503 when too much work of this realm would wait
   */
  enter(realm: string, parameters: PasswordHashing): Reservation
  /** How many places are reserved or in use. */
  length(): number
}

export interface HashQueueOptions {
  /** How many hashes run at a time. */
  concurrency: number
  /** The memory that they use together. */
  memoryKiB: number
  maxSeconds: number
}

/** The initial estimate for one pass over one KiB; each hash corrects it. */
const INITIAL_SECONDS_PER_UNIT = 5e-7
/** The weight of the newest hash in the estimate. */
const NEWEST = 0.1

/**
 * Runs a bounded number of hashes at a time, more than one for each core makes all of them slower, and takes them from
 * the realms in turn. Refuses a hash when the ones before it would take more than `maxSeconds`, estimated from the latest
 * hashes: those of its realm, and as many of each other realm.
 */
export function createHashQueue({ concurrency, memoryKiB, maxSeconds }: HashQueueOptions): HashQueue {
  const limit = createFairLimit({ count: concurrency, memoryKiB })
  /** Reserved work by realm: KiB times passes. */
  const reserved = new Map<string, number>()
  let secondsPerUnit = INITIAL_SECONDS_PER_UNIT
  let places = 0

  async function measured<Result>(units: number, work: () => Promise<Result>): Promise<Result> {
    const start = performance.now()
    try {
      return await work()
    } finally {
      const taken = (performance.now() - start) / 1000 / units
      secondsPerUnit += (taken - secondsPerUnit) * NEWEST
    }
  }

  /** The work that ends before a hash of this realm does. */
  function unitsUntil(realm: string, units: number): number {
    const own = (reserved.get(realm) ?? 0) + units
    let all = own
    for (const [other, theirs] of reserved) if (other !== realm) all += Math.min(theirs, own)
    return all
  }

  return {
    length: () => places,
    enter(realm, parameters) {
      const entered = hashCost(parameters)
      const units = entered.work
      const seconds = (unitsUntil(realm, units) * secondsPerUnit) / concurrency
      // A realm without waiting work may enter a hash of any cost.
      if (reserved.has(realm) && seconds > maxSeconds) throw queueFull(maxSeconds)
      reserved.set(realm, (reserved.get(realm) ?? 0) + units)
      places += 1
      let isUsed = false
      let isReserved = true
      const release = (): void => {
        if (!isReserved) return
        isReserved = false
        places -= 1
        const rest = (reserved.get(realm) ?? 0) - units
        if (rest > 0) reserved.set(realm, rest)
        else reserved.delete(realm)
      }
      return {
        leave() {
          if (!isUsed) release()
        },
        run(work, cost = entered) {
          isUsed = true
          return limit.run(realm, cost, () => measured(cost.work, work)).finally(release)
        },
      }
    },
  }
}

function queueFull(seconds: number): OAuthError {
  return new OAuthError('temporarily_unavailable', 'Too many logins are waiting', {
    headers: { 'Retry-After': String(Math.ceil(seconds)) },
    overload: 'password_hashes',
  })
}
