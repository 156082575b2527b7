import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { parseDocuments } from '../../../../operator/source/directory/manifests/documents.ts'
import { key, secret, user } from '../conformance.ts'
import type { Manifest } from '../conformance.ts'
import { directoryWorld } from './world.ts'
import type { DirectoryWorld } from './world.ts'

const alice = key('User', 'alice')
const yaml = (...manifests: Manifest[]) => manifests.map((manifest) => stringify(manifest)).join('---\n')

async function worldWithTwoUsers(): Promise<DirectoryWorld> {
  const world = await directoryWorld()
  world.write('alice.yaml', yaml(user('alice')))
  world.write('bob.yaml', yaml(user('bob')))
  await world.eventually(() => world.source().list('User').length === 2)
  return world
}

test('a file that does not parse keeps its last good state, is reported once with its place, and blocks deletions', async () => {
  const world = await worldWithTwoUsers()
  const before = world.source().get(alice)
  const good = yaml(user('alice'))
  world.write('alice.yaml', `${good}---\nspec: {a: [\n`)
  await world.eventually(() => world.reported.length > 0)
  expect(world.source().completeList('User')).toBeUndefined()
  rmSync(join(world.directory, 'bob.yaml'))
  await world.fence()
  await world.fence()
  expect(world.source().get(alice)).toEqual(before)
  expect(world.source().list('User')).toHaveLength(2)
  expect(world.reported).toEqual([
    expect.stringMatching(/^alice\.yaml:1[0-9]:\d+: not valid YAML: .*its last good state stays/),
  ])
  expect(world.source().problems()).toHaveLength(1)

  world.write('alice.yaml', good)
  await world.eventually(() => world.source().list('User').length === 1)
  expect(world.source().get(alice)).toEqual(before)
  expect(world.source().problems()).toEqual([])
  expect(world.source().completeList('User')).toBeDefined()

  world.write('alice.yaml', `${good}---\nspec: {a: [\n`)
  await world.eventually(() => world.reported.length === 2)
})

test('a file that is broken at the start keeps the stored objects', async () => {
  const world = await worldWithTwoUsers()
  const before = world.source().list('User')
  await world.stop()
  world.write('alice.yaml', 'a: b: c\n')
  await world.start()
  await world.fence()
  expect(world.source().list('User')).toEqual(before)
  expect(world.source().completeList('User')).toBeUndefined()
})

test('a Secret in a file that is broken at the start keeps its version, and no other is created in its place', async () => {
  const world = await directoryWorld()
  const name = { namespace: 'default', name: 'shop' }
  world.write('shop.yaml', yaml(secret('shop', { key: 'value' })))
  const version = await world.eventually(() => world.source().secrets.version(name))
  await world.stop()
  world.write('shop.yaml', '{')
  await world.start()
  expect(world.source().secrets.version(name)).toEqual(version)
  expect(await world.source().secrets.read(name)).toBeUndefined()
  await expect(world.source().secrets.create({ ...name, labels: {}, data: {} })).rejects.toThrow(
    'lies in the directory',
  )
})

describe('each problem names its place and the remedy', () => {
  const head = 'apiVersion: realmkeeper.io/v1beta1\nkind: User\nmetadata: {name: carol}\n'
  const spec = 'spec: {realmRef: {name: acme}, username: carol'
  test.each([
    [
      'a typing error in a field',
      `${head}${spec}, emaill: x}\n`,
      /:4:\d+: User default\/carol: spec\.emaill: unknown field; did you mean email\?/,
    ],
    [
      'a missing field',
      `${head}spec:\n  realmRef: {name: acme}\n`,
      /:5:3: User default\/carol: spec\.username: is required/,
    ],
    ['a wrong type', `${head}${spec}, enabled: 1}\n`, /:4:\d+: User default\/carol: spec\.enabled: must be a boolean/],
    ['no kind', 'apiVersion: realmkeeper.io/v1beta1\nmetadata: {name: x}\n', /:1:\d+: kind: is missing/],
    ['no name', 'apiVersion: v1\nkind: Secret\nmetadata: {}\n', /:3:\d+: metadata\.name: is required/],
    [
      'row 91: a name that is none',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: A_b}\n',
      /:3:\d+: metadata\.name: must be a DNS name/,
    ],
    [
      'row 91: a name of 254 characters',
      `${head.replace('carol', 'c'.repeat(254))}${spec}}\n`,
      /:3:\d+: metadata\.name: must be a DNS name/,
    ],
    [
      'a namespace that is a way out',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: ../..}\n',
      /:3:\d+: metadata\.namespace: must be a DNS label/,
    ],
    [
      'an unknown kind of ours',
      'apiVersion: realmkeeper.io/v1beta1\nkind: Relam\nmetadata: {name: x}\n',
      /:2:7: kind: realmkeeper\.io has no such kind/,
    ],
    [
      'an unknown version',
      'apiVersion: realmkeeper.io/v2\nkind: User\nmetadata: {name: x}\n',
      /:1:13: apiVersion: this version is not known/,
    ],
    ['a List', 'apiVersion: v1\nkind: List\nitems: []\n', /:2:7: kind: List is not read/],
    ['a text where a manifest is wanted', 'just a text\n', /:1:1: a manifest is a mapping/],
    ['tabs', 'apiVersion: v1\nkind: Secret\nmetadata:\n\tname: x\n', /:4:\d+: not valid YAML: a tab as indentation/],
    ['a key twice', 'apiVersion: v1\nkind: Secret\nkind: Secret\n', /:3:1: not valid YAML: this key is already there/],
    [
      'an alias bomb',
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n`,
      /:1:1: too deeply nested, or too many aliases/,
    ],
    ['depth without end', `a: ${'['.repeat(20000)}`, /:1:\d+: not valid YAML: too deeply nested/],
    [
      'row 90: an object of 1.5 MB',
      `${head}${spec}, attributes: {a: ["${'x'.repeat(1_600_000)}"]}}\n`,
      /larger than 1\.5 MiB/,
    ],
    [
      'row 95: a Secret of more than 1 MB',
      `apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: ${'x'.repeat(1_100_000)}}\n`,
      /larger than 1 MiB/,
    ],
    [
      'row 95: data that is no base64',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {password: "plain text"}\n',
      /:4:\d+: Secret default\/x: data\.password: is not base64; plain text belongs under stringData/,
    ],
    [
      'a misspelled member of a Secret',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringdata: {a: b}\n',
      /:4:\d+: Secret default\/x: stringdata: is not a member of a Secret/,
    ],
    [
      'a label that is no text',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: x, labels: {on: true}}\n',
      /:3:\d+: Secret default\/x: metadata\.labels\.on: must be a string, not boolean; put it in quotes/,
    ],
  ])('%s', async (_what, text, message) => {
    const world = await directoryWorld({ started: false })
    world.write('new.yaml', text)
    await world.start()
    expect(world.reported).toHaveLength(1)
    expect(world.reported[0]).toMatch(message)
    expect(world.reported[0]).toMatch(/^new\.yaml:/)
    expect((world.reported[0] ?? '').length).toBeLessThan(500)
  })

  test('bytes that are not UTF-8', async () => {
    const world = await directoryWorld({ started: false })
    writeFileSync(join(world.directory, 'x.yaml'), Buffer.from([0x61, 0x3a, 0xff, 0xfe]))
    await world.start()
    expect(world.reported).toEqual([expect.stringMatching(/^x\.yaml: not UTF-8 text; save it as UTF-8/)])
  })
})

test('row 127: a name of a file or a field cannot add lines to a report', async () => {
  const world = await directoryWorld({ started: false })
  world.write('a\n\u001b[31m.yaml', 'a: [')
  world.write('b.yaml', 'apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n"no\\n\\e[31mthing": 1\n')
  await world.start()
  expect(world.reported).toHaveLength(2)
  // oxlint-disable-next-line no-control-regex -- the test searches for them
  expect(world.reported.join('')).not.toMatch(/[\u0000-\u001f]/)
})

test('a manifest of our group with an unknown kind blocks deletions: it may be a missing object', async () => {
  const world = await worldWithTwoUsers()
  world.write('alice.yaml', yaml(user('alice')).replace('kind: User', 'kind: Usr'))
  await world.eventually(() => world.reported.length === 1)
  await world.fence()
  await world.fence()
  expect(world.source().list('User')).toHaveLength(2)
  expect(world.source().completeList('User')).toBeUndefined()
})

test('a list is not complete while a new object of the kind is refused: it may have rows from before', async () => {
  const world = await worldWithTwoUsers()
  world.write('carol.yaml', yaml(user('carol', { enabled: 'perhaps' })))
  await world.eventually(() => world.reported.length === 1)
  expect(world.source().completeList('User')).toBeUndefined()
  expect(world.source().completeList('Realm')).toBeDefined()
  world.write('carol.yaml', yaml(user('carol')))
  await world.eventually(() => world.source().completeList('User'))
  expect(world.source().list('User')).toHaveLength(3)
})

test('a refused edit does not block deletions of other objects', async () => {
  const world = await worldWithTwoUsers()
  world.write('alice.yaml', yaml(user('alice', { username: 'mallory' })))
  await world.eventually(() => world.reported.length === 1)
  expect(world.reported[0]).toMatch(
    /^alice\.yaml:\d+:\d+: User default\/alice: spec\.username: .*\(the last good state stays\)/,
  )
  rmSync(join(world.directory, 'bob.yaml'))
  await world.eventually(() => world.source().list('User').length === 1)
  expect(world.source().completeList('User')).toBeDefined()
  // A problem that moves to another line is the same problem.
  world.write('alice.yaml', `# a comment\n${yaml(user('alice', { username: 'mallory' }))}`)
  await world.fence()
  expect(world.reported).toHaveLength(1)
})

test('row 67: no problem contains a Secret', async () => {
  const canary = 'canary-7f3a9'
  const world = await directoryWorld()
  const head = 'apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n'
  const texts = [
    `${head}data: {password: ${canary}}\n`,
    `${head}stringData: {password: [${canary}]}\n`,
    `${head}stringData: {password: |${canary}\n  x\n}\n`,
    `${head}stringData:\n  password: |${canary}\n    x\n`,
    `${head}stringData:\n  password: "${canary}\\q"\n`,
    `${head}stringData:\n  password: "${canary}\n`,
    `${head}stringData:\n  password: *${canary}\n`,
    `${head}stringData:\n  password: !${canary} x\n`,
    `${head}stringData:\n  password: @${canary}\n`,
    `${head}stringData:\n  password: %${canary}\n`,
    `${head}stringData:\n  password: ${canary}: ${canary}: x\n`,
    `${head}stringData:\n  password: '${canary}' ${canary}\n`,
    `${head}stringData:\n  ? [${canary}]\n  : x\n`,
    `${head}stringData: ${canary}\n`,
    `${head}stringData:\n${canary}\n`,
    `${head}${canary}\n`,
    `%${canary}\n---\n${head}`,
  ]
  texts.forEach((text, index) => world.write(`s${index}.yaml`, text))
  await world.eventually(() => world.reported.length >= texts.length - 2)
  await world.fence()
  expect(JSON.stringify([world.reported, world.source().problems()])).not.toContain(canary)
})

test('a document that no API server would store is not parsed', async () => {
  const lines = (count: number) => 'apiVersion: v1\n' + Array.from({ length: count }, (_, at) => `k${at}: v\n`).join('')
  const { problems } = await parseDocuments(`a: b\n---\n${lines(500_000)}`, new Map())
  expect(problems).toEqual([{ line: 2, column: 1, message: 'over 4 MiB without a line "---"; split it' }])
  const many = await parseDocuments(`---\n${lines(1_000)}`.repeat(600), new Map())
  expect([many.problems, many.documents.length]).toEqual([[], 600])
})

test('a link that leads to itself is reported, and the other files are read', async () => {
  const world = await worldWithTwoUsers()
  symlinkSync('self.yaml', join(world.directory, 'self.yaml'))
  await world.apply(user('carol'))
  await world.eventually(() => world.source().get(key('User', 'carol')))
  await world.eventually(() => world.reported.length > 0)
  expect(world.reported.join('\n')).toMatch(/self\.yaml: cannot be read \(ELOOP\)/)
})
