import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { freePort } from '../test/support/world.ts'
import { sleep } from './eventually.ts'
import { ready, residentMegabytes } from './world.ts'
import type { BenchWorld } from './world.ts'

const COMMAND = fileURLToPath(new URL('../cli/realmkeeper.ts', import.meta.url))

/** A started operator process. */
export interface Operator {
  child: ChildProcess
  /** Resolves when the operator is ready, with the seconds since its start. */
  untilReady(): Promise<number>
}

/** @param options.args the source of the resources */
export async function startOperator(
  world: BenchWorld,
  { args, databaseUrl, baseUrl = 'http://localhost:8080' }: { args: string[]; databaseUrl: string; baseUrl?: string },
): Promise<Operator> {
  const healthPort = await freePort()
  const started = performance.now()
  const child = spawn(process.execPath, [COMMAND, 'operator', ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: `${world.directory}/cache`,
      // As in the chart. There, Node limits its old generation to half of the container's memory of 512 MiB.
      NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=256',
      REALMKEEPER_DATABASE_URL: databaseUrl,
      REALMKEEPER_BASE_URL: baseUrl,
      REALMKEEPER_HEALTH_LISTEN_PORT: `${healthPort}`,
      REALMKEEPER_LISTEN_HOST: '127.0.0.1',
      REALMKEEPER_LOG_LEVEL: 'error',
    },
  })
  // Ends the operator also when a row fails.
  process.once('exit', () => child.kill('SIGKILL'))
  return {
    child,
    async untilReady() {
      await ready(healthPort, child)
      return (performance.now() - started) / 1000
    },
  }
}

/** Resident set, in MB, of an idle operator, which releases the memory of its first lists within ten seconds. */
export async function idleMegabytes({ child }: Operator): Promise<number> {
  await sleep(15_000)
  return residentMegabytes(child.pid ?? 0)
}
