import { appendFileSync, readFileSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readState } from '../../../../operator/source/directory/state/state_file.ts'
import { key, realm, secret, user } from '../conformance.ts'
import { directoryWorld } from './world.ts'
import type { DirectoryWorld } from './world.ts'

const alice = key('User', 'alice')
const stateFile = (world: DirectoryWorld) => join(world.stateDir, 'objects.jsonl')

async function stoppedWorld(): Promise<DirectoryWorld> {
  const world = await directoryWorld()
  await world.apply(user('alice'))
  await world.eventually(() => world.source().get(alice))
  await world.stop()
  return world
}

describe('the state file', () => {
  test('a line that a crash cut off is ignored, and the lines before it count', async () => {
    const world = await stoppedWorld()
    const before = readState(world.stateDir)?.objects.get('User/default/alice')
    appendFileSync(stateFile(world), '{"put":{"kind":"User","namespace":"default","name":"al')
    expect(readState(world.stateDir)?.objects.get('User/default/alice')).toEqual(before)
    await world.start()
    expect(world.source().get(alice)?.metadata).toMatchObject({ generation: 1 })
    await world.stop()
    expect(readFileSync(stateFile(world), 'utf8')).toMatch(/\}\n$/)
  })

  test.each([
    [
      'of another version',
      (text: string) => text.replace('"version":1', '"version":2'),
      'has format version 2, this realmkeeper writes version 1: use the version that wrote it, or move the state directory away',
    ],
    [
      'of another format',
      () => '{"format":"something else"}\n',
      'objects.jsonl:1 is damaged: restore it from a backup, or move the state directory away',
    ],
    ['empty', () => '', 'objects.jsonl:1 is damaged'],
    ['that is no JSON', () => 'SQLite format 3\n', 'objects.jsonl:1 is damaged'],
    ['with a damaged line inside', (text: string) => text.replace('{"put"', '{"pu'), 'objects.jsonl:2 is damaged'],
    ['with a line of zeros', (text: string) => `${text}\0\0\0\0\n`, 'objects.jsonl:3 is damaged'],
  ])('one %s is one clear error', async (_what, change, message) => {
    const world = await stoppedWorld()
    writeFileSync(stateFile(world), change(readFileSync(stateFile(world), 'utf8')))
    const before = readFileSync(stateFile(world), 'utf8')
    await expect(world.start()).rejects.toMatchObject({ name: 'StateError', message: expect.stringContaining(message) })
    expect(() => readState(world.stateDir)).toThrow(message)
    expect(readFileSync(stateFile(world), 'utf8')).toBe(before)
  })

  test('a damaged digest key is one clear error', async () => {
    const world = await stoppedWorld()
    truncateSync(join(world.stateDir, 'secret_digest.key'), 5)
    await expect(world.start()).rejects.toThrow('secret_digest.key is damaged: remove it')
  })

  test('is rewritten when it has grown, and another process always reads a complete state', async () => {
    const world = await directoryWorld()
    await world.apply(user('alice'))
    const { uid } = (await world.eventually(() => world.source().get(alice))).metadata
    let largest = 0
    let shrank = false
    const message = 'x'.repeat(20_000)
    for (let write = 0; write < 1500; write++) {
      const conditions = [{ type: 'Ready', status: 'True' as const, reason: 'Served', message: `${message}${write}` }]
      await world.source().writeStatus(alice, uid, { observedGeneration: 1, conditions })
      const { size } = statSync(stateFile(world))
      if (size < largest) shrank = true
      largest = Math.max(largest, size)
      if (write % 50 !== 0) continue
      const held = readState(world.stateDir)?.objects.get('User/default/alice')
      expect(JSON.stringify(held)).toContain(`x${write}"`)
    }
    expect(shrank).toBe(true)
    expect(largest).toBeLessThan(12 * 1024 * 1024)
    await world.restart()
    expect(world.source().get(alice)?.status?.conditions?.[0]?.message).toBe(`${message}1499`)
  })

  test('and every other file of the state are readable only by their owner', async () => {
    const world = await directoryWorld()
    await world.source().secrets.create({ namespace: 'default', name: 'shop-client', labels: {}, data: {} })
    await world.fence()
    const files = readdirSync(world.stateDir, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    expect(files.map(({ name }) => name).toSorted()).toEqual([
      'objects.jsonl',
      'operator.lock',
      'secret_digest.key',
      'shop-client.json',
    ])
    for (const { parentPath, name } of files) expect(statSync(join(parentPath, name)).mode & 0o777).toBe(0o600)
  })
})

test('generations are never used twice, whatever happens between two runs', async () => {
  const world = await directoryWorld()
  const seen = new Set<number>()
  for (let round = 0; round < 6; round++) {
    world.write('alice.yaml', stringify(user('alice', { firstName: `A${round % 2}` })))
    if (round === 0) await world.eventually(() => world.source().get(alice))
    await world.restart()
    seen.add(world.source().get(alice)?.metadata.generation ?? 0)
  }
  expect([...seen]).toEqual([1, 2, 3, 4, 5, 6])
})

test('resourceVersions only grow', async () => {
  const world = await directoryWorld()
  await world.apply(user('alice'))
  const version = () => Number(world.source().get(alice)?.metadata.resourceVersion)
  await world.eventually(() => version() > 0)
  let last = version()
  for (let round = 0; round < 4; round++) {
    await world.apply(user('alice', { firstName: `A${round}` }))
    await world.eventually(() => version() > last)
    last = version()
    await world.remove(user('alice'))
    await world.eventually(() => world.source().get(alice) === undefined)
    await world.restart()
    await world.apply(user('alice'))
    await world.eventually(() => version() > last)
    last = version()
  }
})

test('new defaults of the schema are no new generation', async () => {
  const world = await directoryWorld()
  await world.apply(realm('acme'))
  await world.eventually(() => world.source().get(key('Realm', 'acme')))
  await world.stop()
  // As an older version wrote it, without this default.
  const text = readFileSync(stateFile(world), 'utf8')
  expect(text).toContain('"maxFailures":10,')
  writeFileSync(stateFile(world), text.replace('"maxFailures":10,', ''))
  await world.start()
  expect(world.source().get(key('Realm', 'acme'))?.spec).toMatchObject({ bruteForceProtection: { maxFailures: 10 } })
  const labelled = realm('acme')
  labelled.metadata.labels = { team: 'blue' }
  await world.apply(labelled)
  await world.eventually(() => world.source().get(key('Realm', 'acme'))?.metadata.labels?.['team'])
  expect(world.source().get(key('Realm', 'acme'))?.metadata.generation).toBe(1)
})

test('row 67: the state contains no Secret of the directory in plain text', async () => {
  const canary = 'canary-5d1c8'
  const world = await directoryWorld()
  await world.apply(secret('alice-password', { password: canary }))
  await world.eventually(() => world.source().secrets.version({ namespace: 'default', name: 'alice-password' }))
  const files = readdirSync(world.stateDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const content = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')).join('\n')
  expect(content).toContain('alice-password')
  expect(content).not.toContain(canary)
  expect(content).not.toContain(Buffer.from(canary).toString('base64').slice(0, 12))
})

test('an Event goes to the log, and a log that throws has no effect', async () => {
  const world = await directoryWorld()
  world.source().recordEvent(alice, { type: 'Normal', reason: 'Granted', message: 'ok' })
  expect(world.events).toEqual(['alice Granted'])
  world.events.push = () => {
    throw new Error('disk full')
  }
  world.source().recordEvent(alice, { type: 'Normal', reason: 'Denied', message: 'no' })
})

test('a status that the schema refuses is not written', async () => {
  const world = await directoryWorld()
  await world.apply(user('alice'))
  const { uid } = (await world.eventually(() => world.source().get(alice))).metadata
  const wrong = { observedGeneration: 1, conditions: [], fields: { subject: 5 } }
  await expect(world.source().writeStatus(alice, uid, wrong)).rejects.toThrow(
    'status of User/default/alice is not valid: status.subject must be a string',
  )
  expect(world.source().get(alice)?.status).toBeUndefined()
})
