import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { loginCall } from '../calls.ts'
import { drive } from '../load.ts'
import { atLeast, median } from '../report.ts'
import type { Figure } from '../report.ts'
import { REALMS, USERS } from '../world.ts'
import type { BenchWorld } from '../world.ts'

/** As in the server: one hash per core. At most 4. */
export const HASHES_AT_A_TIME = Math.min(availableParallelism(), 4)

/** Logins, compared with the raw rate of the same hash in the same binding with the server's parallelism. */
export async function loginRows(world: BenchWorld): Promise<Figure[]> {
  const rates: { ours: number[]; floor: number[] } = { ours: [], floor: [] }
  let user = 0
  for (let round = 0; round <= world.rounds; round++) {
    const floor = await rawHashRate(world.duration, HASHES_AT_A_TIME)
    const { perSecond } = await drive({
      port: world.serverPort,
      connections: 4,
      duration: world.duration,
      next: () => loginCall(REALMS.ES256, user++ % USERS),
      wantedStatus: 200,
    })
    if (round === 0) continue
    rates.floor.push(floor)
    rates.ours.push(perSecond)
  }
  return [atLeast('login', median(rates.ours), median(rates.floor), 85, '/s')]
}

/** Hashes per second of a process that only hashes, `concurrency` at a time. */
export async function rawHashRate(seconds: number, concurrency: number): Promise<number> {
  const script = fileURLToPath(new URL('../floor/hash.ts', import.meta.url))
  const child = spawn(process.execPath, [script, String(seconds), String(concurrency)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await new Promise((resolve) => child.once('close', resolve))
  return Number(output)
}
