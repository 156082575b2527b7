import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readState } from '../../../../operator/source/directory/state/state_file.ts'
import { key } from '../conformance.ts'
import { directoryWorld } from './world.ts'

const writer = join(import.meta.dirname, 'killed_writer.ts')

test('row 119: after SIGKILL at any point the state is complete, and no reported generation is lost', async () => {
  const world = await directoryWorld({ started: false })
  let uid: string | undefined
  let highest = 0

  for (let kill = 0; kill < 6; kill++) {
    const child = spawn(process.execPath, [writer, world.directory, world.stateDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    let output = ''
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => (output += text))
    // Each process lives until it has reported new generations, each time a few more.
    const before = highest
    await world.eventually(() => {
      if (child.exitCode !== null) return true
      const lines = [...output.matchAll(/^seen \S+ (\d+)$/gm)]
      const fresh = lines.filter(([, generation]) => Number(generation) > before)
      return fresh.length > kill * 5
    })
    child.kill('SIGKILL')
    await ended
    expect(output).not.toContain('problem')

    for (const [, seenUid, generation] of output.matchAll(/^seen (\S+) (\d+)$/gm)) {
      uid ??= seenUid
      expect(seenUid).toBe(uid)
      highest = Math.max(highest, Number(generation))
    }
    const held = readState(world.stateDir)?.objects.get('User/default/alice')
    expect(held).toMatchObject({ uid })
    expect(held?.kind === 'User' && held.generation).toBeGreaterThanOrEqual(highest)
  }

  expect(highest).toBeGreaterThanOrEqual(6)
  await world.start()
  expect(world.source().get(key('User', 'alice'))?.metadata.uid).toBe(uid)
  expect(await world.source().secrets.read({ namespace: 'default', name: 'made' })).toBeDefined()
  expect(world.reported).toEqual([])
}, 120_000)
