import { drive } from './load.ts'
import type { Call } from './load.ts'
import { median } from './report.ts'
import type { BenchWorld } from './world.ts'

/** One side of a comparison. */
export interface Side {
  port: number
  connections: number
  next: (connection: number) => Call
  onAnswer?: (connection: number, body: string) => void
}

/**
 * Measures two sides in turns, so that other load of the machine affects both. Returns the median of the rounds of each
 * side, in requests per second.
 */
export async function pair(
  { rounds, duration }: Pick<BenchWorld, 'rounds' | 'duration'>,
  ours: Side,
  floor: Side,
): Promise<{ ours: number; floor: number }> {
  const rates = { ours: [] as number[], floor: [] as number[] }
  // The first round is the warm-up and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, side] of [['floor', floor] as const, ['ours', ours] as const]) {
      const { perSecond } = await drive({ ...side, duration: round === 0 ? 1 : duration, wantedStatus: 200 })
      if (round > 0) rates[name].push(perSecond)
    }
  }
  return { ours: median(rates.ours), floor: median(rates.floor) }
}
