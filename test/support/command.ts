import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { ROOT } from './source_files.ts'

export interface CommandResult {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs `realmkeeper` with these arguments in a child process and returns its output. */
export async function realmkeeper(
  args: string[],
  { env = {}, cwd = ROOT }: { env?: Record<string, string>; cwd?: string } = {},
): Promise<CommandResult> {
  const child = spawn(process.execPath, [`${ROOT}/cli/realmkeeper.ts`, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [code, stdout, stderr] = await Promise.all([exited, text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}
