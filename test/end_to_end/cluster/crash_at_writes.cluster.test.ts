import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SeenRequest } from '../../support/fault_proxy.ts'
import { LEASE_PATH, until } from './cluster_world.ts'
import { applyAll, pathOf, resource, userWithPassword } from './manifests.ts'
import type { Manifest } from './manifests.ts'
import { proxiedWorld } from './proxied_world.ts'
import type { ProxiedWorld } from './proxied_world.ts'

interface Point {
  what: string
  isIt: (request: SeenRequest) => boolean
  /** Continues when the object exists and waits. */
  does?: 'approve' | 'delete'
}

const patches = (path: RegExp) => (request: SeenRequest) => request.method === 'PATCH' && path.test(request.url)

const POINTS: Point[] = [
  { what: 'the finalizer of a User', isIt: patches(/\/users\/ann-\d+\?/) },
  { what: 'the status of a User', isIt: patches(/\/users\/ann-\d+\/status/) },
  {
    what: 'the Secret of a Client',
    isIt: ({ method, url }) => method === 'POST' && /\/quickstart\/secrets\?/.test(url),
  },
  { what: 'the status of a Client', isIt: patches(/\/clients\/app-\d+\/status/) },
  {
    what: 'the status of a request that waits',
    isIt: patches(/\/roleassignments\/duty-\d+\/status\?(?!.*dryRun)/),
  },
  {
    what: 'the status of an approved request',
    isIt: patches(/\/roleassignments\/duty-\d+\/status\?(?!.*dryRun)/),
    does: 'approve',
  },
  { what: 'the finalizer of a User that goes', isIt: patches(/\/users\/ann-\d+\?/), does: 'delete' },
  {
    what: 'the finalizer of a grant that goes',
    isIt: patches(/\/roleassignments\/duty-\d+\?/),
    does: 'delete',
  },
]
const CASES = POINTS.flatMap((point) => [
  { ...point, when: 'before it is done' },
  { ...point, when: 'after it, without receiving the answer' },
])

describe('an operator that dies at a write', () => {
  let world: ProxiedWorld
  let rounds = 0
  beforeAll(async () => {
    world = await proxiedWorld()
  })
  afterAll(() => world?.end())

  const rows = async (statement: string, ...values: string[]): Promise<Record<string, unknown>[]> =>
    (await world.database.pool.query(statement, values)).rows

  test.for(CASES)('row 119: $what: $when', async ({ isIt, does, when }) => {
    const round = ++rounds
    const [user, client, duty] = [`ann-${round}`, `app-${round}`, `duty-${round}`] as const
    const manifests = [
      ...userWithPassword(user),
      resource('Client', client, { clientId: client }),
      resource('RoleAssignment', duty, {
        subject: { kind: 'User', name: 'alice' },
        roles: ['svc-realm-admin'],
        requestedBy: 'platform-team',
      }),
    ]
    const untilDone = async (): Promise<void> => {
      await world.untilReady('users', user)
      await world.untilReady('clients', client)
      await world.untilReady('roleassignments', duty, 'False', 'PendingApproval')
    }
    if (does === undefined) await killAt(isIt, when, () => applyAll(world.author, manifests))
    else {
      await applyAll(world.author, manifests)
      await untilDone()
    }
    if (does === 'approve') await killAt(isIt, when, () => world.approve(duty))
    else if (does === undefined) await untilDone()
    if (does !== 'approve') await world.approve(duty)
    await world.untilReady('roleassignments', duty, 'True', 'Granted')

    const found = await Promise.all(
      (['users', 'clients', 'roleassignments'] as const).map((plural, at) =>
        world.find(plural, [user, client, duty][at] ?? ''),
      ),
    )
    const [userUid, clientUid, dutyUid] = found.map((object) => object?.metadata.uid ?? 'none')
    expect(await rows('select resource_uid from users where name = $1', user)).toEqual([{ resource_uid: userUid }])
    expect(await rows('select resource_uid from clients where name = $1', client)).toEqual([
      { resource_uid: clientUid },
    ])
    await expectOneSecret(client, clientUid ?? '')
    const audited = await rows(
      `select action from audit where details::json ->> 'uid' = $1 order by at, seq`,
      dutyUid ?? '',
    )
    expect(audited.map(({ action }) => action)).toEqual(['assignment_requested', 'assignment_decided', 'roles_granted'])

    const users = manifests.filter(({ kind }) => kind !== 'Client' && kind !== 'Secret')
    const remove = (): Promise<unknown> => Promise.all(users.map((each) => world.author.do('DELETE', pathOf(each))))
    if (does === 'delete') await killAt(isIt, when, remove)
    else await remove()
    await until(async () => {
      expect(await world.find('users', user)).toBeUndefined()
      expect(await world.find('roleassignments', duty)).toBeUndefined()
    })
    expect(await rows('select from users where name = $1', user)).toEqual([])
    expect(await rows('select from granted_roles where assignment_uid = $1', dutyUid ?? '')).toEqual([])
    const revoked = await rows(
      `select from audit where action = 'roles_revoked' and $1 in (details::json ->> 'uid', details::json ->> 'assignmentUid')`,
      dutyUid ?? '',
    )
    expect(revoked).toHaveLength(1)
  })

  /** Kills the operator at the first such request, and starts another one. */
  async function killAt(isIt: Point['isIt'], when: string, cause: () => Promise<unknown>): Promise<void> {
    const { operator, proxy } = world
    let isKilled = false
    const kill = (): void => operator.signal('SIGKILL')
    proxy.setFault((request) => {
      if (isKilled) return 'hang'
      if (world.askedBy(request) !== 'operator' || !isIt(request)) return undefined
      isKilled = true
      if (when !== 'before it is done') return { unheard: kill }
      kill()
      return 'hang'
    })
    await cause()
    expect(await operator.ended).toBe('SIGKILL')
    proxy.clearFault()
    // As if the Lease of the killed operator had expired.
    await world.plane.admin.call('DELETE', LEASE_PATH)
    world.operator = await world.startOperator()
  }

  async function expectOneSecret(client: string, owner: string): Promise<void> {
    const selector = 'labelSelector=app.kubernetes.io/managed-by=realmkeeper'
    const { items } = await world.plane.admin.do('GET', `/api/v1/namespaces/quickstart/secrets?${selector}`)
    const own = items.filter(({ metadata }: Manifest & { metadata: { ownerReferences: { uid: string }[] } }) =>
      metadata.ownerReferences.some(({ uid }) => uid === owner),
    )
    expect(own.map(({ metadata }: Manifest) => metadata.name)).toEqual([`${client}-client`])
  }
})
