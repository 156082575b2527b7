import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { readText } from '../../../../operator/source/directory/manifests/manifest_files.ts'
import { key, secret, user } from '../conformance.ts'
import type { Manifest } from '../conformance.ts'
import { directoryWorld } from './world.ts'
import type { DirectoryWorld } from './world.ts'

const alice = key('User', 'alice')
const yaml = (...manifests: Manifest[]) => manifests.map((manifest) => stringify(manifest)).join('---\n')
const uid = (world: DirectoryWorld, name = 'alice') => world.source().get(key('User', name))?.metadata.uid

/** Waits until a poll after everything written so far has passed, so that absences were counted at least twice. */
async function severalPolls(world: DirectoryWorld): Promise<void> {
  const marker = secret('poll-marker', { n: '1' })
  await world.apply(marker)
  await world.eventually(() => world.source().secrets.version({ namespace: 'default', name: 'poll-marker' }))
  await world.remove(marker)
  await world.eventually(() => !world.source().secrets.version({ namespace: 'default', name: 'poll-marker' }))
}

describe('files and their documents', () => {
  test('several documents in a file, comments and empty documents between them', async () => {
    const world = await directoryWorld()
    world.write(
      'all.yaml',
      `# head\n---\n# nothing\n---\n${yaml(user('alice'), user('bob'), secret('s', { a: 'b' }))}---\n`,
    )
    await world.eventually(() => world.source().list('User').length === 2)
    expect(world.source().secrets.version({ namespace: 'default', name: 's' })).toBeDefined()
    expect(world.reported).toEqual([])
  })

  test('folders below, .yml, .json and links are read; hidden files and other endings are not', async () => {
    const world = await directoryWorld({ started: false })
    world.write('deep/er/alice.yml', yaml(user('alice')))
    world.write('bob.json', JSON.stringify(user('bob')))
    world.write('.hidden.yaml', 'neither: [')
    world.write('.git/x.yaml', 'neither: [')
    world.write('notes.md', 'neither: [')
    world.write('carol.yaml~', 'neither: [')
    writeFileSync(join(world.directory, '..', 'dave.yaml'), yaml(user('dave')))
    symlinkSync(join(world.directory, '..', 'dave.yaml'), join(world.directory, 'dave.yaml'))
    symlinkSync(world.directory, join(world.directory, 'loop'))
    await world.start()
    expect(
      world
        .source()
        .list('User')
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    ).toEqual(['alice', 'bob', 'dave'])
    expect(world.reported).toEqual([])
  })

  test('a new folder is watched, and so is one that replaces another', async () => {
    const world = await directoryWorld()
    world.write('team/alice.yaml', yaml(user('alice')))
    await world.eventually(() => uid(world))
    const staged = join(world.directory, '..', 'staged')
    mkdirSync(staged)
    writeFileSync(join(staged, 'alice.yaml'), yaml(user('alice', { firstName: 'Alice' })))
    renameSync(join(world.directory, 'team'), join(world.directory, '..', 'former'))
    renameSync(staged, join(world.directory, 'team'))
    await world.eventually(() => world.source().get(alice)?.metadata.generation === 2)
  })

  test('manifests of other kinds and groups are ignored', async () => {
    const world = await directoryWorld()
    world.write('a.yaml', 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: no}\n')
    world.write('b.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}\n')
    await world.fence()
    expect(world.reported).toEqual([])
    expect(world.source().completeList('User')).toBeDefined()
  })

  test('each atomic rename over a file, as editors and git do, is an edit', async () => {
    const world = await directoryWorld()
    world.write('alice.yaml', yaml(user('alice')))
    const first = await world.eventually(() => uid(world))
    for (const generation of [2, 3, 4]) {
      const temporary = join(world.directory, '.alice.yaml.swp')
      writeFileSync(temporary, yaml(user('alice', { firstName: `A${generation}` })))
      renameSync(temporary, join(world.directory, 'alice.yaml'))
      await world.eventually(() => world.source().get(alice)?.metadata.generation === generation)
    }
    expect(uid(world)).toBe(first)
  })

  test('an edit is seen without waiting for a poll, in old and new folders, after a rename too', async () => {
    const world = await directoryWorld({ pollMilliseconds: 3_600_000 })
    mkdirSync(join(world.directory, 'team'))
    world.write('alice.yaml', yaml(user('alice')))
    await world.eventually(() => uid(world))
    world.write('team/bob.yaml', yaml(user('bob')))
    await world.eventually(() => uid(world, 'bob'))
    for (const generation of [2, 3]) {
      for (const [file, name] of [
        ['alice.yaml', 'alice'],
        ['team/bob.yaml', 'bob'],
      ] as const) {
        writeFileSync(join(world.directory, '.new'), yaml(user(name, { firstName: `A${generation}` })))
        renameSync(join(world.directory, '.new'), join(world.directory, file))
        await world.eventually(() => world.source().get(key('User', name))?.metadata.generation === generation)
      }
    }
  })

  test('a move between files keeps the object, an edit on the way included', async () => {
    const world = await directoryWorld()
    world.write('b.yaml', yaml(user('alice'), user('bob')))
    const first = await world.eventually(() => uid(world))
    world.write('b.yaml', yaml(user('bob')))
    world.write('a.yaml', yaml(user('alice', { firstName: 'Alice' })))
    await world.eventually(() => world.source().get(alice)?.metadata.generation === 2)
    await severalPolls(world)
    expect(uid(world)).toBe(first)
  })

  test('row 90: one object in two places: the first by path counts, and both places are named', async () => {
    const world = await directoryWorld()
    world.write('b.yaml', yaml(user('alice', { firstName: 'Second' })))
    const first = await world.eventually(() => uid(world))
    world.write('a.yaml', yaml(user('alice', { firstName: 'First' })))
    await world.eventually(() => world.source().get(alice)?.metadata.generation === 2)
    expect(world.source().get(alice)?.spec).toMatchObject({ firstName: 'First' })
    expect(world.reported).toEqual([
      expect.stringMatching(
        /^b\.yaml:4:9: User default\/alice: metadata\.name: is in two places; the one at a\.yaml:4 counts/,
      ),
    ])
    rmSync(join(world.directory, 'a.yaml'))
    await world.eventually(() => world.source().get(alice)?.metadata.generation === 3)
    expect(uid(world)).toBe(first)
    expect(world.source().problems()).toEqual([])
  })

  test('a half-written file is read again', async () => {
    const world = await directoryWorld()
    const users = Array.from({ length: 40 }, (_, index) => user(`user-${index}`))
    const text = yaml(...users)
    const file = join(world.directory, 'users.yaml')
    for (let at = 0; at < text.length; at += 500) {
      appendFileSync(file, text.slice(at, at + 500))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await world.eventually(() => world.source().list('User').length === 40)
    await world.eventually(() => world.source().problems().length === 0)
  })
})

describe('absence', () => {
  test('an object that is back within two polls is the same one', async () => {
    const world = await directoryWorld()
    world.write('alice.yaml', yaml(user('alice')))
    const first = await world.eventually(() => uid(world))
    for (let round = 0; round < 5; round++) {
      rmSync(join(world.directory, 'alice.yaml'))
      await new Promise((resolve) => setTimeout(resolve, 5))
      world.write('alice.yaml', yaml(user('alice', { firstName: `A${round}` })))
      await world.eventually(() => {
        const spec: unknown = world.source().get(alice)?.spec
        return JSON.stringify(spec).includes(`"A${round}"`)
      })
    }
    expect(uid(world)).toBe(first)
  })

  test('an object removed while no source ran is deleted after the start, an edited one gets a new generation', async () => {
    const world = await directoryWorld()
    world.write('a.yaml', yaml(user('alice'), user('bob')))
    await world.eventually(() => world.source().list('User').length === 2)
    await world.stop()
    world.write('a.yaml', yaml(user('bob', { firstName: 'Bob' })))
    await world.start()
    expect(world.source().get(key('User', 'bob'))?.metadata.generation).toBe(2)
    await world.eventually(() => uid(world) === undefined)
  })

  test('an object restored while finalizers block waits until the old one is gone', async () => {
    const world = await directoryWorld()
    world.write('alice.yaml', yaml(user('alice')))
    const first = await world.eventually(() => uid(world))
    await world.source().setFinalizer(alice, first, true)
    rmSync(join(world.directory, 'alice.yaml'))
    await world.eventually(() => world.source().get(alice)?.metadata.deletionTimestamp)
    await expect(world.source().setFinalizer(key('User', 'alice'), 'other', false)).rejects.toThrow('another object')
    world.write('alice.yaml', yaml(user('alice', { firstName: 'New' })))
    await world.fence()
    expect(uid(world)).toBe(first)
    expect(world.source().get(alice)?.spec).not.toMatchObject({ firstName: 'New' })
    await world.restart()
    expect(uid(world)).toBe(first)
    await world.source().setFinalizer(alice, first, false)
    const second = await world.eventually(() => uid(world))
    expect(second).not.toBe(first)
    expect(world.source().get(alice)?.metadata).toMatchObject({ generation: 1 })
    expect(world.source().get(alice)?.spec).toMatchObject({ firstName: 'New' })
  })

  test('an empty file deletes its objects; a missing directory deletes nothing', async () => {
    const world = await directoryWorld()
    world.write('a.yaml', yaml(user('alice')))
    world.write('b.yaml', yaml(user('bob')))
    await world.eventually(() => world.source().list('User').length === 2)
    world.write('a.yaml', '')
    await world.eventually(() => world.source().list('User').length === 1)
    renameSync(world.directory, `${world.directory}-away`)
    await world.eventually(() => world.source().problems().length === 1)
    expect(world.source().completeList('User')).toBeUndefined()
    expect(world.reported.at(-1)).toContain('cannot be listed (ENOENT); what it held stays')
    renameSync(`${world.directory}-away`, world.directory)
    await world.eventually(() => world.source().completeList('User'))
    await severalPolls(world)
    expect(
      world
        .source()
        .list('User')
        .map(({ metadata }) => metadata.name),
    ).toEqual(['bob'])
  })
})

test('a missing directory is an error at the start', async () => {
  const world = await directoryWorld({ started: false })
  rmSync(world.directory, { recursive: true })
  await expect(world.start()).rejects.toThrow('is no folder; give the folder that holds the manifests')
})

test('the source writes nothing into the directory', async () => {
  const world = await directoryWorld()
  const text = yaml(user('alice'))
  world.write('alice.yaml', text)
  const first = await world.eventually(() => uid(world))
  await world.source().writeStatus(alice, first, { observedGeneration: 1, conditions: [] })
  await world.source().setFinalizer(alice, first, true)
  await world.fence()
  expect(readFileSync(join(world.directory, 'alice.yaml'), 'utf8')).toBe(text)
})

test('what is no file of a certain size is not waited for: a pipe, and a file of the system without an end', () => {
  const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-pipes-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const pipe = join(folder, 'pipe.yaml')
  execFileSync('mkfifo', [pipe])
  expect(readText(pipe)).toEqual({ problem: 'not a regular file' })
  writeFileSync(join(folder, 'empty.yaml'), '')
  expect(readText(join(folder, 'empty.yaml'))).toEqual({ text: '' })
  // Root reads the log of the kernel from it, and waits for its next line.
  if (existsSync('/proc/kmsg') && process.getuid?.() === 0) expect(readText('/proc/kmsg')).toEqual({ text: '' })
})
