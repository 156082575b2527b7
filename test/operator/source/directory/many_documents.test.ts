import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { key } from '../conformance.ts'
import { directoryWorld } from './world.ts'

const COUNT = 10_000

function manifest(index: number, firstName: string): string {
  return `apiVersion: realmkeeper.io/v1beta1
kind: User
metadata: {name: user-${index}}
spec:
  realmRef: {name: acme}
  username: user-${index}
  firstName: ${firstName}
  email: user-${index}@example.com
  passwordSecretRef: {name: user-${index}, key: password}
`
}

test('row 122: ten thousand documents in one file: all are stored, one edit is one change, a restart changes nothing', async () => {
  const world = await directoryWorld({ started: false })
  const documents = Array.from({ length: COUNT }, (_, index) => manifest(index, 'Same'))
  world.write('users.yaml', documents.join('---\n'))
  await world.start()
  expect(world.source().list('User')).toHaveLength(COUNT)
  expect(world.changedKeys()).toHaveLength(COUNT)

  // A status is appended; the state is not written again.
  const before = statSync(join(world.stateDir, 'objects.jsonl')).size
  const { uid } = world.source().get(key('User', 'user-7'))?.metadata ?? { uid: '' }
  await world.source().writeStatus(key('User', 'user-7'), uid, { observedGeneration: 1, conditions: [] })
  expect(statSync(join(world.stateDir, 'objects.jsonl')).size - before).toBeLessThan(2000)
  world.changedKeys()

  documents[5000] = manifest(5000, 'Other')
  world.write('users.yaml', documents.join('---\n'))
  await world.eventually(() => world.source().get(key('User', 'user-5000'))?.metadata.generation === 2)
  expect(world.changedKeys()).toEqual(['User/default/user-5000'])

  const held = world.source().list('User')
  await world.restart()
  expect(world.source().list('User')).toEqual(held)
}, 120_000)
