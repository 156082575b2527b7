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
 * Measures two sides in turns, so that what else the machine does falls on both; the medians of the rounds are
 * compared. Requests per second.
 */
export async function pair(
  { rounds, duration }: Pick<BenchWorld, 'rounds' | 'duration'>,
  ours: Side,
  floor: Side,
): Promise<{ ours: number; floor: number }> {
  const rates = { ours: [] as number[], floor: [] as number[] }
  // The first round warms both up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, side] of [['floor', floor] as const, ['ours', ours] as const]) {
      const { perSecond } = await drive({ ...side, duration: round === 0 ? 1 : duration, wantedStatus: 200 })
      if (round > 0) rates[name].push(perSecond)
    }
  }
  return { ours: median(rates.ours), floor: median(rates.floor) }
}
