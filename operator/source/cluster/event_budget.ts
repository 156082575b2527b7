import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../kubernetes/clock.ts'

interface Bucket {
  left: number
  at: number
}

interface Rate {
  burst: number
  refillMillis: number
}

const PER_OBJECT: Rate = { burst: 25, refillMillis: 5 * 60_000 }
const TOTAL: Rate = { burst: 200, refillMillis: 100 }
const MAX_OBJECTS = 5_000

/**
 * Limits the rate of Events by token buckets, one for each object and one for all. The function that it returns takes
 * one Event of an object; false when none is left.
 */
export function eventBudget(clock: Clock): (uid: string) => boolean {
  const total = fullBucket(TOTAL)
  const perObject = new LRUCache<string, Bucket>({ max: MAX_OBJECTS })

  function fullBucket({ burst }: Rate): Bucket {
    return { left: burst, at: clock.now() }
  }

  function refill(bucket: Bucket, { burst, refillMillis }: Rate): void {
    const now = clock.now()
    bucket.left = Math.min(burst, bucket.left + (now - bucket.at) / refillMillis)
    bucket.at = now
  }

  return (uid) => {
    const own = perObject.get(uid) ?? fullBucket(PER_OBJECT)
    perObject.set(uid, own)
    refill(own, PER_OBJECT)
    refill(total, TOTAL)
    if (own.left < 1 || total.left < 1) return false
    own.left -= 1
    total.left -= 1
    return true
  }
}
