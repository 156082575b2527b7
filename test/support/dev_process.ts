import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { globSync } from 'node:fs'
import { createServer } from 'node:net'
import { recordLogLine, recordStateSecrets } from './canary.ts'
import { ROOT } from './source_files.ts'

export interface DevProcess {
  child: ChildProcess
  /** Its output so far. */
  output(): string
  /** Resolves when the output contains a text; rejects with the output when the process ends before. */
  printed(text: string | RegExp): Promise<void>
  /** Resolves with the exit code, or the signal that ended it. */
  ended: Promise<number | string>
  ports: { http: number; health: number; operatorHealth: number }
}

/** Starts `realmkeeper dev` with these arguments in a folder. By default it listens on free ports. */
export async function startDev(args: string[], cwd: string, chosenPorts?: DevProcess['ports']): Promise<DevProcess> {
  const ports = chosenPorts ?? { http: await freePort(), health: await freePort(), operatorHealth: await freePort() }
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
      for (const check of watchers) check()
    })
  }
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => {
      // The tour prints the passwords of its Secret files. The rest of the output is a log.
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
    printed: (text) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (!(typeof text === 'string' ? output.includes(text) : text.test(output))) return
          watchers.delete(check)
          resolve()
        }
        watchers.add(check)
        check()
        void ended.then((how) => reject(new Error(`ended with ${how} before it printed ${String(text)}:\n${output}`)))
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
