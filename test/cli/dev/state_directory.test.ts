import { chmod, chown, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStateDirectory, stateDirectoryOf } from '../../../cli/dev/state_directory.ts'

describe('the state directory of a directory', () => {
  test.for([
    ['manifests', undefined, '.realmkeeper/manifests/state'],
    ['./a/b/', undefined, '.realmkeeper/b/state'],
    ['/srv/team/realms', undefined, '.realmkeeper/realms/state'],
    ['.realmkeeper/quickstart/manifests', undefined, '.realmkeeper/quickstart/state'],
    ['/srv/.realmkeeper/quickstart/manifests/', undefined, '/srv/.realmkeeper/quickstart/state'],
    ['manifests', '/var/lib/state', '/var/lib/state'],
    ['manifests', 'manifests-state', 'manifests-state'],
    ['manifests', '..manifests', '..manifests'],
  ] as const)('%s with --state-dir %s: %s', ([directory, given, state]) => {
    expect(stateDirectoryOf(directory, given)).toBe(resolve(state))
  })

  test.for([
    ['manifests', 'manifests'],
    ['manifests', 'manifests/state'],
    ['manifests', 'manifests/..state'],
    ['.', undefined],
    ['/', '/var/state'],
  ] as const)('is never inside the manifests: %s with --state-dir %s', ([directory, given]) => {
    expect(() => stateDirectoryOf(directory, given)).toThrow('choose another with --state-dir')
  })
})

describe('a state directory', () => {
  let path: string
  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), 'realmkeeper-state-'))
  })
  afterEach(() => rm(path, { recursive: true, force: true }))

  describe.skipIf(process.getuid?.() !== 0)('row 134: as root, is refused', () => {
    test.for<[string, (folder: string) => Promise<unknown>]>([
      ['in a folder of another user', (folder) => chown(folder, 65_534, 65_534)],
      ['in a folder that others can write in', (folder) => chmod(folder, 0o777)],
    ])('%s', async ([, change]) => {
      const folder = join(path, 'folder')
      await mkdir(join(folder, 'below'), { recursive: true })
      await change(folder)
      for (const state of ['state', 'below/state', 'new/state']) {
        await expect(openStateDirectory(join(folder, state))).rejects.toThrow(
          /root does not write below .*folder, because/,
        )
      }
      await symlink(join(folder, 'below'), join(path, 'link'))
      await expect(openStateDirectory(join(path, 'link/state'))).rejects.toThrow('root does not write below')
    })
  })

  test('of this version can be opened again', async () => {
    await openStateDirectory(path)
    await openStateDirectory(path)
    expect(await readFile(join(path, 'version'), 'utf8')).toBe('1\n')
  })

  test('of another version is refused with one line of advice', async () => {
    await writeFile(join(path, 'version'), '99\n')
    await expect(openStateDirectory(path)).rejects.toThrow(
      `the state directory ${path} has version 99, and this realmkeeper reads version 1: move it away to begin with a new one ` +
        '(users get new subjects), or run the realmkeeper that created it',
    )
  })
})
