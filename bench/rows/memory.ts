import { drive } from '../load.ts'
import { operations } from '../operations.ts'
import { plain } from '../report.ts'
import type { Figure } from '../report.ts'
import { end, peakMegabytes, REALMS, residentMegabytes, startServer } from '../world.ts'
import type { BenchWorld } from '../world.ts'

const CONNECTIONS = 8

/** The memory of one server after, and at the peak of, every operation in turn, each for one round. */
export async function memoryRows(world: BenchWorld): Promise<Figure[]> {
  const { child, port } = await startServer({
    databaseUrl: world.databaseUrl,
    keyringDir: `${world.directory}/keyrings`,
    cache: `${world.directory}/cache`,
  })
  try {
    for (const realm of Object.values(REALMS)) {
      for (const { next, onAnswer } of await operations(port, realm, CONNECTIONS)) {
        await drive({ port, connections: CONNECTIONS, duration: world.duration, wantedStatus: 200, next, onAnswer })
      }
    }
    const pid = child.pid ?? 0
    const peak = peakMegabytes(pid)
    return [
      plain('server after all operations, resident', `${residentMegabytes(pid).toFixed(0)} MB`, '', true),
      plain('server peak under all operations', `${peak.toFixed(0)} MB`, '< 250 MB', peak < 250),
    ]
  } finally {
    await end(child)
  }
}
