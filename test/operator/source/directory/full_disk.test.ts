import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readState } from '../../../../operator/source/directory/state/state_file.ts'
import { user } from '../conformance.ts'
import { directoryWorld } from './world.ts'

const writer = join(import.meta.dirname, 'limited_writer.ts')
const canLimit = spawnSync('prlimit', ['--version']).status === 0

// A limit on file sizes fails in the middle of a write, like a full disk.
test.skipIf(!canLimit)(
  'row 83: a write on a full disk leaves no partial line, and writes continue when there is space',
  async () => {
    const world = await directoryWorld({ started: false })
    await world.apply(user('alice'))
    // With SIGXFSZ ignored, the write fails with EFBIG.
    const shell = 'trap "" XFSZ; ulimit -S -f 100; exec "$@"'
    const child = spawn('bash', ['-c', shell, 'bash', process.execPath, writer, world.directory, world.stateDir], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    let output = ''
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => (output += text))
    await world.eventually(() => child.exitCode !== null || output.includes('full'))
    expect(output).toMatch(/objects\.jsonl cannot be written \(EFBIG\)/)

    spawnSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited'])
    child.stdin.write('go on\n')
    await ended
    const [, last, failed] = /went on after (\d+) of (\d+)/.exec(output) ?? []
    expect(Number(last)).toBe(Number(failed) - 1)
    expect(JSON.stringify(readState(world.stateDir)?.objects.get('User/default/alice'))).toContain('100000 xxx')
  },
)
