import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '../../../support/control_plane/account.ts'
import { ROOT } from '../../../support/source_files.ts'
import { decisionsWorld, NAMESPACE, removedAfter } from './world.ts'
import type { DecisionsWorld } from './world.ts'

// Gives a command a terminal; util-linux, on nearly every Linux.
const SCRIPT = '/usr/bin/script'

describe.skipIf(process.platform !== 'linux' || !existsSync(SCRIPT))('at a terminal', () => {
  let world: DecisionsWorld
  beforeAll(async () => {
    world = await decisionsWorld()
  })
  afterAll(() => world?.plane.stop())

  /** Runs the command at a terminal. `answer` is called at each question with all that was shown, and types. */
  function atTerminal(account: Account, args: string[], answer: (shown: string) => Promise<string>) {
    const command = [process.execPath, `${ROOT}/cli/realmkeeper.ts`, ...args].join(' ')
    const child = spawn(SCRIPT, ['-qec', command, '/dev/null'], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, KUBECONFIG: account.kubeconfig, TERM: 'dumb' },
    })
    let shown = ''
    let answered = 0
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString()
      if (shown.split('[y/N]').length - 1 <= answered) return
      answered++
      void answer(shown).then((text) => child.stdin.write(text))
    })
    return new Promise<{ code: number | null; shown: string }>((resolve) => {
      child.once('close', (code) => resolve({ code, shown: shown.replaceAll('\r', '') }))
    })
  }

  test('it shows the RoleAssignment, asks, and asks again after a change', async () => {
    removedAfter(world, 'asked')
    await world.request('asked')
    let questions = 0
    const { code, shown } = await atTerminal(
      world.ann,
      ['approve', 'asked', '-n', NAMESPACE, '--no-wait'],
      async () => {
        if (++questions === 1) await world.request('asked', { roles: ['reader', 'writer'] })
        return 'y\n'
      },
    )
    expect(questions).toBe(2)
    expect(code).toBe(0)
    expect(shown).toMatch(/^adds +reader$[^]*Approve this\?[^]*It changed since it was shown:\n {2}generation: 1 → 2/m)
    expect(shown).toContain('team/asked approved by ann (generation 2: reader, writer for alice)')
  })

  test('the answer no writes nothing and sets the exit code', async () => {
    removedAfter(world, 'left')
    await world.request('left')
    const { code, shown } = await atTerminal(world.ann, ['deny', 'left', '-n', NAMESPACE], async () => '\n')
    expect(code).toBe(1)
    expect(shown).toContain('team/left not denied')
    expect((await world.read('left')).status?.approvals).toBeUndefined()
    const printed = await atTerminal(
      world.ann,
      ['deny', 'left', '-n', NAMESPACE, '--yes', '--no-wait'],
      async () => 'n\n',
    )
    expect(printed).toEqual({ code: 0, shown: 'team/left denied by ann (generation 1: reader for alice)\n' })
  })

  test.for(['\u0003', '\u0004'])('%j ends it, with nothing written', async (key) => {
    removedAfter(world, 'first', 'second')
    await world.request('first')
    await world.request('second')
    const args = ['approve', 'first', 'second', '-n', NAMESPACE]
    const { code, shown } = await atTerminal(world.ann, args, async () => key)
    expect(code).toBe(1)
    expect(shown).toContain('team/first not approved')
    expect(shown).not.toContain('team/second')
    expect((await world.read('first')).status?.approvals).toBeUndefined()
  })
})
