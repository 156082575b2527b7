import { totalmem } from 'node:os'

export interface Cost {
  /** Held while the work runs. */
  memoryKiB: number
  /** Processor time in any unit. */
  work: number
}

/** Runs work of several realms, a bounded amount at a time. */
export interface FairLimit {
  run<Result>(realm: string, cost: Cost, start: () => Promise<Result>): Promise<Result>
}

interface Waiting {
  cost: Cost
  start: () => void
}

interface Lane {
  waiting: Waiting[]
  /** The virtual time at which its next work begins: all lanes use the same share of it. */
  next: number
}

/**
 * At most `count` works and `memoryKiB` of memory at a time. Of the realms that wait, the one that had the least work comes
 * next, so that a realm with many or costly hashes delays itself alone; a realm that comes late has no claim on the time
 * before (start-time fair queueing, Goyal et al. 1996). Within a realm the order is kept. Work that needs more memory than
 * there is runs alone.
 */
export function createFairLimit({ count, memoryKiB }: { count: number; memoryKiB: number }): FairLimit {
  const lanes = new Map<string, Lane>()
  /** The virtual time at which the latest work began. */
  let now = 0
  let running = 0
  let usedKiB = 0

  function laneOf(realm: string): Lane {
    for (const [name, { waiting, next }] of lanes) if (waiting.length === 0 && next <= now) lanes.delete(name)
    const lane = lanes.get(realm) ?? { waiting: [], next: now }
    lanes.set(realm, lane)
    return lane
  }

  function startNext(): void {
    while (running < count) {
      let next: Lane | undefined
      for (const lane of lanes.values()) {
        if (lane.waiting.length > 0 && (next === undefined || lane.next < next.next)) next = lane
      }
      const first = next?.waiting[0]
      // Work that does not fit yet is not overtaken, or it might never run.
      if (!next || !first || (running > 0 && usedKiB + first.cost.memoryKiB > memoryKiB)) return
      next.waiting.shift()
      now = next.next
      next.next += first.cost.work
      running += 1
      usedKiB += first.cost.memoryKiB
      first.start()
    }
  }

  return {
    async run(realm, cost, start) {
      const lane = laneOf(realm)
      await new Promise<void>((resolve) => {
        lane.waiting.push({ cost, start: resolve })
        startNext()
      })
      try {
        return await start()
      } finally {
        running -= 1
        usedKiB -= cost.memoryKiB
        startNext()
      }
    },
  }
}

/** What argon2id takes for hashes that are computed one after the other. Work is in KiB times passes. */
export function hashCost(...hashes: readonly { memoryKiB: number; iterations: number }[]): Cost {
  return {
    memoryKiB: Math.max(...hashes.map(({ memoryKiB }) => memoryKiB)),
    work: hashes.reduce((sum, { memoryKiB, iterations }) => sum + memoryKiB * iterations, 0),
  }
}

/**
 * KiB for password hashes: a sixth of the memory that the process may use, and at least `least`. With a quarter, floods of
 * bodies and then of logins reached 438 MiB of 512.
 */
export function memoryForHashes(least: number): number {
  const limit = process.constrainedMemory()
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return Math.max(least, Math.floor(bytes / 1024 / 6))
}
