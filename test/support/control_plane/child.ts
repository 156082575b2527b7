import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'

/** A process of the control plane. */
export interface Child {
  pid: number
  /** Resolves when it has ended. */
  ended: Promise<void>
  running(): boolean
  /** The end of its log. */
  tail(): string
  stop(): Promise<void>
  /** SIGKILL. */
  kill(): Promise<void>
}

const STOP_MILLIS = 5_000

/** Starts a program whose output goes to a file in its own folder. The program ends with this process, also after SIGKILL. */
export function startChild(program: string, args: string[], logFile: string): Child {
  const log = openSync(logFile, 'a')
  const child = spawn(program, args, { stdio: ['ignore', log, log] })
  closeSync(log)
  let alive = true
  // The input of the guard ends with this process. It then kills the program and removes the folder.
  const guarding = 'read -r line; kill -KILL "$1" 2>/dev/null; sleep 1; rm -rf "$2"'
  const guard = spawn('sh', ['-c', guarding, 'sh', String(child.pid), dirname(logFile)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      alive = false
      guard.kill('SIGKILL')
      resolve()
    }
    child.once('error', end)
    child.once('close', end)
  })

  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await ended
  }
  return {
    pid: child.pid ?? 0,
    ended,
    running: () => alive,
    tail: () => readFileSync(logFile, 'utf8').slice(-3_000),
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => void child.kill('SIGKILL'), STOP_MILLIS)
      await ended
      clearTimeout(timer)
    },
    kill,
  }
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (typeof address === 'string' || !address) throw new Error('no port')
  return address.port
}

/** Resolves when `isReady` resolves with true; rejects when the process ends before, or after a minute. */
export async function untilReady(what: string, child: Child, isReady: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_200; tries++) {
    if (!child.running()) throw new Error(`${what} ended:\n${child.tail()}`)
    if (await isReady().catch(() => false)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${what} is not ready:\n${child.tail()}`)
}
