import type { Figure } from '../report.ts'
import { median, plain } from '../report.ts'
import { end, residentMegabytes, startServer } from '../world.ts'
import type { BenchWorld } from '../world.ts'

/** Duration of a server's start, and its memory when idle. */
export async function startupRows(world: BenchWorld): Promise<Figure[]> {
  const options = { databaseUrl: world.databaseUrl, keyringDir: `${world.directory}/keyrings` }
  const cold: number[] = []
  const warm: number[] = []
  const resident: number[] = []
  for (let round = 0; round < 3; round++) {
    const cache = `${world.directory}/cache-${round}`
    for (const times of [cold, warm]) {
      const { child, seconds } = await startServer({ ...options, cache })
      times.push(seconds)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      if (times === warm) resident.push(residentMegabytes(child.pid ?? 0))
      await end(child)
    }
  }
  return [
    plain('server ready, cold compile cache', `${median(cold).toFixed(2)} s`, '', true),
    plain('server ready, warm compile cache', `${median(warm).toFixed(2)} s`, '', true),
    plain('server idle, resident', `${median(resident).toFixed(0)} MB`, '< 120 MB', median(resident) < 120),
  ]
}
