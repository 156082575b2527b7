import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { startPart } from '../end_to_end/cluster/part.ts'
import type { Part } from '../end_to_end/cluster/part.ts'
import { eventually } from './eventually.ts'
import { memoryCgroup } from './memory_cgroup.ts'
import { testDatabase } from './postgres.ts'
import { freePort, testWorld } from './world.ts'
import type { TestWorld } from './world.ts'

/** `realmkeeper server` as a process, with the environment and, where possible, the memory limit of the chart. */
export interface ServerProcess extends TestWorld {
  url: string
  part: Part
  /** What a process logged as an error, except answers 503. */
  errors(): string[]
  stop(): Promise<void>
}

export interface ServerProcessOptions {
  /** Writes rows before the server starts. */
  prepare: (world: TestWorld) => Promise<unknown>
  args?: string[]
}

/** Resolves when the process is ready. */
export async function startServerProcess({ prepare, args = [] }: ServerProcessOptions): Promise<ServerProcess> {
  const cgroup = memoryCgroup()
  console.log(`the server runs ${cgroup.description}`)
  const folder = mkdtempSync(`${tmpdir()}/realmkeeper-server-`)
  const database = await testDatabase()
  const world = testWorld(database, `${folder}/keyrings`)
  await prepare(world)
  const [port, healthPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const part = startPart('server', {
    healthPort,
    within: cgroup.within,
    env: {
      NODE_OPTIONS: '--max-semi-space-size=8',
      NODE_COMPILE_CACHE: `${folder}/cache`,
      REALMKEEPER_DATABASE_URL: database.url,
      REALMKEEPER_BASE_URL: url,
    },
    args: [
      '--listen-host=127.0.0.1',
      `--listen-port=${port}`,
      `--health-listen-port=${healthPort}`,
      `--keyring-dir=${folder}/keyrings`,
      ...args,
    ],
  })
  const stop = async (): Promise<void> => {
    if (part.running()) await part.stop()
    cgroup.remove()
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await eventually(async () => {
      if (!(await part.isReady())) throw new Error(`the server is not ready:\n${part.output().slice(-3_000)}`)
    })
  } catch (error) {
    await stop()
    throw error
  }
  return { ...world, url, part, errors: () => errorLines(part.output()), stop }
}

/** Lines of a log of the product that report an error, and lines that are no log lines, such as an uncaught exception. */
export function errorLines(output: string): string[] {
  return output.split('\n').filter((line) => {
    if (line === '') return false
    if (!line.startsWith('{"level":')) return true
    return line.startsWith('{"level":"error"') && !line.includes('"status":503')
  })
}

/** MiB that a process holds now, and at most so far. */
export function residentMebibytes(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const [now = 0, peak = 0] = ['VmRSS', 'VmHWM'].map(
    (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024,
  )
  return { now, peak }
}
