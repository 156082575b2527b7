import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordSecrets } from '../../support/canary.ts'
import { clusterWorld, LEASE_PATH, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'
import { applyAll, pathOf, resource, userWithPassword } from './manifests.ts'
import type { Manifest } from './manifests.ts'

const ROUNDS = 15
const USERS = 20
/** After these rounds the test waits until everything is reconciled, so that the next edit meets a grant. */
const RESTS = [4, 5]
const NO_APPROVALS = { requiredApprovals: 1, enabled: false }

/** The resources of one round. Each differs from the round before in everything that is reconciled. */
function batch(round: number): Manifest[] {
  // Each round adds eight and removes eight. Four return as other objects two rounds later.
  const users = Array.from({ length: USERS }, (_, index) => `user-${(index + round * 8) % (USERS + 12)}`)
  const clients = [0, 1].map((index) => `client-${index + round}`)
  // Their subjects stay, so that each grant is one transition.
  const assignments = [0, 1, 2].map((index) => `assignment-${index + Math.floor(round / 2)}`)
  return [
    ...users.flatMap((name) => userWithPassword(name, { firstName: `Round ${round}` })),
    ...clients.map((name) => resource('Client', name, { clientId: name, name: `Round ${round}` })),
    ...assignments.map((name) =>
      resource('RoleAssignment', name, {
        subject: { kind: 'User', name: 'keeper' },
        roles: ['reader', round % 2 ? 'writer' : 'printer'],
        requestedBy: 'platform-team',
      }),
    ),
  ]
}

describe('an operator that is killed at any moment', () => {
  let world: ClusterWorld
  beforeAll(async () => {
    world = await clusterWorld()
    await world.plane.admin.do('POST', '/api/v1/namespaces', { metadata: { name: 'quickstart' } })
    const realm = resource('Realm', 'quickstart', {
      roles: ['reader', 'writer', 'printer'].map((name) => ({ name })),
      identityGovernance: NO_APPROVALS,
      passwordHashing: { memoryKiB: 1024, iterations: 2, parallelism: 1 },
    })
    Reflect.deleteProperty(Object(realm['spec']), 'realmRef')
    await applyAll(world.author, [realm, ...userWithPassword('keeper')])
    await world.untilReady('users', 'keeper')
  })
  afterAll(() => world?.end())

  const rows = async (statement: string): Promise<Record<string, unknown>[]> =>
    (await world.database.pool.query(statement)).rows
  const find = async (plural: string): Promise<Found[]> =>
    (await world.plane.admin.do('GET', `/apis/realmkeeper.io/v1alpha1/namespaces/quickstart/${plural}`)).items

  /** An object that is being deleted cannot be applied: it is applied again when it is gone. */
  async function apply(before: Manifest[], after: Manifest[]): Promise<void> {
    const stays = new Set(after.map(pathOf))
    const gone = before.filter((manifest) => !stays.has(pathOf(manifest)))
    await Promise.all([
      ...gone.map((manifest) => world.author.call('DELETE', pathOf(manifest))),
      applyAll(world.author, after),
    ])
  }

  /** @param millis time until the kill */
  async function killAfter(millis: number): Promise<void> {
    await sleep(millis)
    await world.operator.kill()
    // As if the Lease of the killed operator had expired.
    await world.plane.admin.call('DELETE', LEASE_PATH)
    world.operator = await world.startOperator()
    await until(() => expect(world.operator.output()).toContain('this operator leads'))
  }

  test('row 119: it converges when it is started again: one row, one Secret and one audit row each, and all are Ready', async () => {
    let present: Manifest[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const wanted = batch(round)
      // Spread over all of its work: before the first write, between writes, and after the last.
      await Promise.all([apply(present, wanted), killAfter(((round * 7) % ROUNDS) * 60)])
      present = wanted
      if (RESTS.includes(round)) await until(async () => expect(await unseenAssignments()).toEqual([]))
    }
    await until(async () => {
      const left = [...(await find('users')), ...(await find('clients')), ...(await find('roleassignments'))]
      expect(left.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([])
    })
    await applyAll(world.author, present)

    const named = (kind: string): string[] =>
      present
        .filter((each) => each.kind === kind)
        .map(({ metadata }) => metadata.name)
        .toSorted()
    for (const kind of ['User', 'Client', 'RoleAssignment']) {
      const plural = `${kind.toLowerCase()}s`
      for (const name of named(kind)) await world.untilReady(plural, name)
      const kept = kind === 'User' ? ['keeper'] : []
      await until(async () => expect(namesOf(await find(plural))).toEqual([...named(kind), ...kept].toSorted()))
    }

    const users = await find('users')
    expect(
      await rows('select name, resource_uid as uid, subject, first_name from users order by name collate "C"'),
    ).toEqual(
      users.map(({ metadata: { name, uid } }) => ({
        name,
        uid,
        // The former object of this name had another uid.
        subject: uid,
        first_name: name === 'keeper' ? null : `Round ${ROUNDS - 1}`,
      })),
    )
    expect(users.every(({ metadata }) => metadata.finalizers?.length === 1)).toBe(true)

    const clients = await find('clients')
    expect(await rows('select name, resource_uid as uid from clients order by name collate "C"')).toEqual(
      clients.map(({ metadata: { name, uid } }) => ({ name, uid })),
    )
    await until(async () => {
      const generated = await generatedSecrets()
      expect(generated.map(({ owner }) => owner)).toEqual(clients.map(({ metadata }) => metadata.uid))
    })
    for (const { clientId, secret } of await generatedSecrets()) {
      const form = { grant_type: 'password', client_id: clientId, client_secret: secret }
      await until(async () => {
        const { status, body } = await world.post('/token', {
          ...form,
          username: 'keeper',
          password: 'keeper-password',
        })
        expect(status, JSON.stringify(body)).toBe(200)
        expect(world.rolesIn(body.access_token)).toEqual(['printer', 'reader'])
      })
    }
    await expectOneAuditRowAGrant()
  })

  async function generatedSecrets(): Promise<{ owner: string; clientId: string; secret: string }[]> {
    const selector = 'labelSelector=app.kubernetes.io/managed-by=realmkeeper'
    const { items } = await world.plane.admin.do('GET', `/api/v1/namespaces/quickstart/secrets?${selector}`)
    const text = (base64: string): string => Buffer.from(base64, 'base64').toString()
    const found = items.map(
      ({ metadata, data }: { metadata: { ownerReferences: { uid: string }[] }; data: Record<string, string> }) => ({
        owner: metadata.ownerReferences[0]?.uid,
        clientId: text(data.client_id ?? ''),
        secret: text(data.client_secret ?? ''),
      }),
    )
    recordSecrets(...found.map(({ secret }: { secret: string }) => secret))
    return found
  }

  /** Names of the objects whose present generation has no status. */
  async function unseenAssignments(): Promise<string[]> {
    const isSeen = ({ metadata, status }: Found): boolean =>
      metadata.deletionTimestamp === undefined && status?.observedGeneration === metadata.generation
    return namesOf((await find('roleassignments')).filter((object) => !isSeen(object)))
  }

  /** A generation grants once, only existing roles are revoked, and the rest is what counts. */
  async function expectOneAuditRowAGrant(): Promise<void> {
    const audited = await rows(
      `select details::json ->> 'uid' as uid, action, details::json -> 'roles' as roles,
          details::json -> 'grantedGeneration' as generation from audit
        where action in ('roles_granted', 'roles_revoked') order by at, writer, seq`,
    )
    const grants = audited.filter(({ action }) => action === 'roles_granted')
    expect(new Set(grants.map(({ uid, generation }) => [uid, generation].join('/'))).size).toBe(grants.length)
    const granted = new Map<unknown, string[]>()
    for (const { uid, action, roles } of audited) {
      const before = granted.get(uid) ?? []
      const named = Array.isArray(roles) ? roles.map(String) : []
      // A grant lists all its roles, including those of the grant before.
      if (action === 'roles_granted') granted.set(uid, [...new Set([...before, ...named])])
      else {
        expect(named.filter((role) => !before.includes(role))).toEqual([])
        granted.set(
          uid,
          before.filter((role) => !named.includes(role)),
        )
      }
    }
    const left = [...granted].filter(([, roles]) => roles.length > 0)
    const served = await rows('select assignment_uid as uid, role from granted_roles order by 1, 2')
    const expected = left.flatMap(([uid, roles]) => roles.map((role) => ({ uid, role })))
    expect(served).toEqual(expected.toSorted((one, other) => (textOf(one) < textOf(other) ? -1 : 1)))
    expect(left).toHaveLength(3)
  }
})

interface Found {
  metadata: { name: string; uid: string; generation: number; finalizers?: string[]; deletionTimestamp?: string }
  status?: { observedGeneration?: number }
}

function namesOf(objects: Found[]): string[] {
  return objects.map(({ metadata }) => metadata.name)
}

function textOf({ uid, role }: { uid: unknown; role: string }): string {
  return `${String(uid)} ${role}`
}
