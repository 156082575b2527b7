import type { Clock } from '../../../kubernetes/clock.ts'

/** How many Events may be written: of one object, and of all. */
export interface EventBudget {
  /** True when there is one left for the object; it is then spent. */
  take(uid: string): boolean
}

interface Bucket {
  left: number
  at: number
}

const OF_ONE = { most: 25, refillMillis: 5 * 60_000 }
const OF_ALL = { most: 200, refillMillis: 100 }
const MOST_OBJECTS = 5_000

/** Token buckets: a burst, and then one at a time. */
export function eventBudget(clock: Clock): EventBudget {
  const ofAll: Bucket = { left: OF_ALL.most, at: clock.now() }
  const ofOne = new Map<string, Bucket>()

  function refill(bucket: Bucket, { most, refillMillis }: typeof OF_ONE): Bucket {
    const now = clock.now()
    bucket.left = Math.min(most, bucket.left + (now - bucket.at) / refillMillis)
    bucket.at = now
    return bucket
  }

  return {
    take(uid) {
      const one = refill(ofOne.get(uid) ?? { left: OF_ONE.most, at: clock.now() }, OF_ONE)
      const all = refill(ofAll, OF_ALL)
      if (one.left < 1 || all.left < 1) return false
      one.left -= 1
      all.left -= 1
      // Put at the end: the first one is the one that was silent for longest.
      ofOne.delete(uid)
      ofOne.set(uid, one)
      const [oldest] = ofOne.keys()
      if (ofOne.size > MOST_OBJECTS && oldest !== undefined) ofOne.delete(oldest)
      return true
    },
  }
}
