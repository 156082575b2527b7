import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { globSync } from 'node:fs'
import { createServer } from 'node:net'
import { recordLogLine, recordStateSecrets } from './canary.ts'
import { ROOT } from './source_files.ts'

export interface DevProcess {
  child: ChildProcess
  /** Everything said so far. */
  output(): string
  /** Resolves when a text was said; rejects, with everything said, when the process ends before. */
  said(text: string | RegExp): Promise<void>
  /** Resolves with the exit code, or the signal that ended it. */
  ended: Promise<number | string>
  ports: { http: number; health: number; operatorHealth: number }
}

/** Starts `realmkeeper dev` with arguments, on free ports, in a folder. */
export async function startDev(args: string[], cwd: string, given?: DevProcess['ports']): Promise<DevProcess> {
  const ports = given ?? { http: await freePort(), health: await freePort(), operatorHealth: await freePort() }
  const child = spawn(
    process.execPath,
    [
      `${ROOT}/cli/realmkeeper.ts`,
      'dev',
      ...args,
      `--listen-port=${ports.http}`,
      `--health-listen-port=${ports.health}`,
      `--operator-health-listen-port=${ports.operatorHealth}`,
    ],
    { cwd, env: { PATH: process.env.PATH, HOME: process.env.HOME }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  const watchers = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      for (const look of watchers) look()
    })
  }
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => {
      // The tour names the passwords of its own Secret files; all else that it writes is a log.
      for (const state of globSync('.realmkeeper/*/state', { cwd })) recordStateSecrets(`${cwd}/${state}`)
      recordLogLine('dev', output.replace(/^The tour\.[\s\S]*?refresh_token=\$F; echo$/m, ''))
      resolve(code ?? signal ?? 'unknown')
    })
  })
  return {
    child,
    ports,
    ended,
    output: () => output,
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!(typeof text === 'string' ? output.includes(text) : text.test(output))) return
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        look()
        void ended.then((how) => reject(new Error(`ended with ${how} before it said ${String(text)}:\n${output}`)))
      }),
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return address.port
}
