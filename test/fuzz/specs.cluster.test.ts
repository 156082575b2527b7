import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KIND_NAMES, kindSchema } from '../../crds/schemas.ts'
import { PAUSED } from '../../operator/controller/paused.ts'
import { recordSecrets } from '../support/canary.ts'
import type { Written } from '../crds/cases/case.ts'
import { clusterWorld, until } from '../end_to_end/cluster/cluster_world.ts'
import type { ClusterWorld } from '../end_to_end/cluster/cluster_world.ts'
import { MERGE_PATCH } from '../support/control_plane/account.ts'
import { errorLines, residentMebibytes } from '../support/server_process.ts'
import { isSoak, soak } from '../support/soak.ts'
import { StatusCounts } from './http/answers.ts'
import { playCases } from './seed.ts'
import { keepImmutable, NAMESPACE, randomObject } from './specs/objects.ts'

// Objects of the four kinds, written by an account with the rights of an author to a real API server under an operator.

const WRITES = soak(150, 4_000)
const LANES = 4
const API = `/apis/realmkeeper.io/v1beta1/namespaces/${NAMESPACE}`
const PLURALS = KIND_NAMES.map((kind) => kindSchema(kind)?.plural ?? '')
const GOOD = 'a-good-password-1'

interface Stored extends Written {
  metadata: { name: string; generation: number; annotations?: Record<string, string> }
}

describe('random objects', () => {
  let world: ClusterWorld
  beforeAll(async () => {
    world = await clusterWorld()
    await world.author.do('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
    recordSecrets(GOOD)
    const secrets: Record<string, Record<string, string | Buffer>> = {
      good: { password: GOOD, client_secret: GOOD },
      long: { password: 'x'.repeat(1_025), client_secret: 'x'.repeat(100_000) },
      short: { password: 'x', client_secret: 'x' },
      empty: { password: '', client_secret: '' },
      binary: { password: Buffer.from([0, 0xff, 0xfe]), client_secret: Buffer.from([0, 0xff, 0xfe]) },
      'other-entry': { other: GOOD },
    }
    for (const [name, entries] of Object.entries(secrets)) {
      const data = Object.fromEntries(
        Object.entries(entries).map(([entry, value]) => [entry, Buffer.from(value).toString('base64')]),
      )
      await world.author.do('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, { metadata: { name }, data })
    }
  })
  afterAll(() => world?.end())

  async function stored(): Promise<Stored[]> {
    const lists = await Promise.all(PLURALS.map((plural) => world.plane.admin.do('GET', `${API}/${plural}`)))
    return lists.flatMap(({ items }) => items)
  }

  const pathOf = ({ kind, metadata }: Written): string =>
    `${API}/${kindSchema(kind)?.plural}/${String(metadata['name'])}`

  test('each is refused by the API server or gets a condition, and the operator works as before', async () => {
    const { operator, author, plane } = world
    const answers = new StatusCounts()
    await playCases(WRITES, LANES, async (random) => {
      const object = randomObject(random)
      const path = pathOf(object)
      const present = await author.call('GET', path)
      const chance = random()
      const deletes = present.status === 200 && chance < 0.1
      if (present.status === 200) object.metadata['resourceVersion'] = present.body.metadata.resourceVersion
      if (present.status === 200 && random() < 0.8) keepImmutable(object, present.body)
      const answer = deletes
        ? await author.call('DELETE', path)
        : present.status === 200
          ? await author.call('PUT', path, object)
          : await author.call('POST', path.slice(0, path.lastIndexOf('/')), object)
      answers.add(`${deletes ? 'DELETE' : object.kind} ${answer.status}`)
      const text = JSON.stringify(object).slice(0, 4_000)
      if (answer.status >= 500) throw new Error(`${answer.status} ${answer.body.message}\n${text}`)
      if (!operator.running()) throw new Error(`the operator ended\n${text}`)
    })
    console.log(answers.text())

    const count = await until(async () => {
      const objects = await stored()
      for (const { kind, metadata, status } of objects) {
        // A paused object keeps the condition Ready that it had.
        const type = metadata.annotations?.[PAUSED] === 'true' ? 'Paused' : 'Ready'
        const condition = status?.conditions?.find((each: { type: string }) => each.type === type)
        const what = `${kind} ${metadata.name}: ${JSON.stringify(condition)}`
        expect(condition?.observedGeneration, what).toBe(metadata.generation)
      }
      return objects.length
    })
    console.log(`${count} objects; the operator holds ${residentMebibytes(operator.pid).now.toFixed(0)} MiB`)
    expect(count).toBeGreaterThan(10)

    // What is valid is still served.
    for (const [kind, spec] of [
      ['Realm', {}],
      ['Client', { realmRef: { name: 'afterwards' }, clientId: 'afterwards' }],
      ['User', { realmRef: { name: 'afterwards' }, username: 'afterwards', passwordSecretRef: { name: 'good' } }],
    ] as const) {
      const plural = kindSchema(kind)?.plural ?? ''
      const body = { apiVersion: 'realmkeeper.io/v1beta1', kind, metadata: { name: 'afterwards' }, spec }
      await author.do('POST', `${API}/${plural}`, body)
      await world.untilReady(plural, 'afterwards', 'True', undefined, NAMESPACE)
    }
    expect(operator.running()).toBe(true)
    expect(errorLines(operator.output())).toEqual([])

    for (const path of (await stored()).map(pathOf)) {
      // A pause holds a deletion. Without it, the object of an earlier deletion may be gone before this one.
      const unpaused = { metadata: { annotations: { [PAUSED]: null } } }
      await plane.admin.call('PATCH', path, unpaused, { contentType: MERGE_PATCH })
      await plane.admin.call('DELETE', path)
    }
    await until(async () => expect((await stored()).map(pathOf)).toEqual([]))
    if (isSoak) expect(residentMebibytes(operator.pid).peak).toBeLessThan(512 * 0.85)
  })
})
