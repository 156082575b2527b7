import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { logFile } from '../../support/canary.ts'
import { ROOT } from '../../support/source_files.ts'

/** A process of the product. */
export interface Part {
  pid: number
  healthUrl: string
  /** Its standard output and standard error. */
  output(): string
  running(): boolean
  /** Resolves with the exit code, or the name of the signal. */
  ended: Promise<number | string>
  isReady(): Promise<boolean>
  signal(name: NodeJS.Signals): void
  /** Sends SIGTERM; resolves as `ended`. */
  stop(): Promise<number | string>
  kill(): Promise<void>
}

export interface PartOptions {
  args: string[]
  env: Record<string, string>
  healthPort: number
  /** A program and its first arguments, which starts the process: see memory_cgroup.ts. */
  within?: string[] | undefined
}

/** Starts `realmkeeper operator` or `realmkeeper server`. The process ends with this one. */
export function startPart(name: 'operator' | 'server', { args, env, healthPort, within = [] }: PartOptions): Part {
  const command = [...within, process.execPath, `${ROOT}/cli/realmkeeper.ts`, name, ...args]
  const child = spawn(command[0] ?? '', command.slice(1), {
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
  const killAtExit = (): void => void child.kill('SIGKILL')
  process.once('exit', killAtExit)
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => {
      process.removeListener('exit', killAtExit)
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
      // A process that a test had stopped receives SIGTERM only when it continues.
      child.kill('SIGCONT')
      return ended
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
