import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { lockDirectory } from '../../process/lock_file.ts'

describe('a directory', () => {
  let path: string
  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), 'realmkeeper-lock-'))
  })
  afterEach(() => rm(path, { recursive: true, force: true }))

  const lock = (directory = path) => lockDirectory(directory, { file: 'one.lock', holder: '"realmkeeper dev"' })

  test('is locked by one process at a time', async () => {
    const release = await lock()
    await expect(lock()).rejects.toThrow(
      `another "realmkeeper dev" (process ${process.pid}) uses ${path}: end it, or choose another --state-dir`,
    )
    await release()
    await expect(lock()).resolves.toBeTypeOf('function')
  })

  test('is created if missing', async () => {
    await lock(join(path, 'a', 'b'))
    expect(await readdir(join(path, 'a', 'b'))).toEqual(['one.lock'])
  })

  test('is taken over from a process that has ended', async () => {
    const gone = spawn(process.execPath, ['--eval', ''])
    await once(gone, 'exit')
    await writeFile(join(path, 'one.lock'), `${gone.pid} 1234\n`)
    await expect(lock()).resolves.toBeTypeOf('function')
    expect(await readdir(path)).toEqual(['one.lock'])
  })

  test.skipIf(process.platform !== 'linux')(
    'is taken over from a zombie, whose parent has not read its exit code',
    async () => {
      // The shell replaces itself with a program that does not wait for the child.
      const parent = spawn('sh', ['-c', 'sleep 300 & echo $!; exec sleep 300'], { stdio: ['ignore', 'pipe', 'ignore'] })
      const [line] = await once(parent.stdout, 'data')
      const pid = Number(line)
      const stat = async (): Promise<string> => readFile(`/proc/${pid}/stat`, 'utf8')
      const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
      const start = (text: string): string | undefined => text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
      await writeFile(join(path, 'one.lock'), `${pid} ${boot}:${start(await stat())}\n`)
      await expect(lock()).rejects.toThrow(`(process ${pid})`)
      process.kill(pid)
      await vi.waitFor(async () => expect(await stat()).toContain(') Z '), { timeout: 120_000 })
      await expect(lock()).resolves.toBeTypeOf('function')
      parent.kill('SIGKILL')
    },
  )

  test('is taken over when another process has the same pid', async () => {
    await writeFile(join(path, 'one.lock'), `${process.pid} of-an-earlier-start\n`)
    await expect(lock()).resolves.toBeTypeOf('function')
  })

  test('is taken over when the lock file is empty', async () => {
    await writeFile(join(path, 'one.lock'), '')
    await expect(lock()).resolves.toBeTypeOf('function')
  })

  test('is taken over by one of many processes that find a leftover lock', async () => {
    for (const leftover of ['', 'garbage\n', `${process.pid} of-an-earlier-start\n`]) {
      await writeFile(join(path, 'one.lock'), leftover)
      const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lock()))
      const releases = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      expect(releases).toHaveLength(1)
      expect(await readdir(path)).toEqual(['one.lock'])
      await releases[0]?.()
    }
  })
})
