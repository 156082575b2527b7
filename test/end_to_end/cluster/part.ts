import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { logFile } from '../../support/canary.ts'
import { ROOT } from '../../support/source_files.ts'

/** A process of the product. */
export interface Part {
  pid: number
  healthUrl: string
  /** All that it wrote so far. */
  output(): string
  running(): boolean
  /** Resolves with how it ended. */
  ended: Promise<number | string>
  isReady(): Promise<boolean>
  signal(name: NodeJS.Signals): void
  /** SIGTERM; resolves with how it ended. */
  stop(): Promise<number | string>
  kill(): Promise<void>
}

export interface PartOptions {
  args: string[]
  env: Record<string, string>
  healthPort: number
}

/** Starts `realmkeeper operator` or `realmkeeper server`; it does not outlive this process. */
export function startPart(name: 'operator' | 'server', { args, env, healthPort }: PartOptions): Part {
  const child = spawn(process.execPath, [`${ROOT}/cli/realmkeeper.ts`, name, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log = createWriteStream(logFile(`cluster-${name}`), { flags: 'a' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      log.write(chunk)
    })
  }
  const killWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithUs)
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => {
      process.removeListener('exit', killWithUs)
      resolve(code ?? signal ?? 'unknown')
    })
  })
  const healthUrl = `http://127.0.0.1:${healthPort}`
  return {
    pid: child.pid ?? 0,
    healthUrl,
    output: () => output,
    running: () => child.exitCode === null && child.signalCode === null,
    ended,
    isReady: async () => {
      const answer = await fetch(`${healthUrl}/readyz`).catch(() => undefined)
      return answer?.status === 200
    },
    signal: (signal) => void child.kill(signal),
    stop() {
      child.kill('SIGTERM')
      // One that a test had stopped hears it only when it goes on.
      child.kill('SIGCONT')
      return ended
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
