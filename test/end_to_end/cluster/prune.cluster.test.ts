import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../../support/source_files.ts'
import { untilRightsAct } from '../../support/control_plane/rights.ts'
import { clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'

const KINDS = 'secrets,realms.realmkeeper.io,clients.realmkeeper.io,users.realmkeeper.io,roleassignments.realmkeeper.io'

/** Applies, prunes and restores a whole realm, each with the documented rights. */
describe('a governed realm as a whole', () => {
  let world: ClusterWorld
  beforeAll(async () => {
    world = await clusterWorld()
    await world.applyQuickstart()
    await expectServed()
  })
  afterAll(() => world?.end())

  async function expectServed(): Promise<void> {
    await world.untilReady('realms', 'quickstart')
    await world.untilReady('clients', 'shop')
    for (const name of ['alice', 'bob']) await world.untilReady('users', name)
    await until(async () => expect((await world.login('alice')).status).toBe(200))
    const { status } = (await world.find('realms', 'quickstart'))!
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'GovernanceConfirmed', status: 'True' }))
  }

  const prune = () =>
    world.plane.tryKubectl(['delete', '-f', 'examples/quickstart/02_realm.yaml', '--timeout=60s'], { as: world.author })

  async function untilGone(path: string): Promise<void> {
    await until(async () => expect((await world.plane.admin.call('GET', path)).status).toBe(404))
  }

  test('a GitOps account prunes it with the documented right, and applies it again', async () => {
    expect((await prune()).stderr).toContain('deleting a Realm with identityGovernance requires the verb approve')
    await world.plane.kubectl(['apply', '-f', '-'], { input: documentedRole() })
    await world.plane.kubectl(['create', 'clusterrolebinding', 'pruner', '--clusterrole=realm-pruner', '--user=gitops'])
    await untilRightsAct(world.plane.admin)
    expect((await prune()).stderr).toBe('')
    await world.plane.kubectl(['apply', '-f', 'examples/quickstart'], { as: world.author })
    await expectServed()
  })

  test('its namespace is deleted by an account without approve, and restored from a backup', async () => {
    const { plane } = world
    await plane.kubectl(['delete', 'clusterrolebinding', 'pruner'])
    await untilRightsAct(plane.admin)
    const { items } = JSON.parse(await plane.kubectl(['get', KINDS, '-n=quickstart', '-o=json']))
    await plane.kubectl(['delete', 'namespace', 'quickstart', '--wait=false'], { as: world.author })
    await untilGone('/api/v1/namespaces/quickstart')

    await plane.kubectl(['apply', '-f', 'examples/quickstart/01_namespace.yaml'], { as: world.author })
    await plane.kubectl(['create', '-f', '-'], { as: world.author, input: JSON.stringify(restored(items)) })
    await expectServed()
  })
})

/** The objects as a backup restores them: without status, and what a new object gets. */
function restored(items: { metadata: Record<string, unknown>; status?: unknown }[]): object {
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: items
      .filter(({ metadata }) => !metadata['ownerReferences'])
      .map(({ metadata, ...item }) => {
        const { name, namespace, labels, annotations } = metadata
        const { status: _, ...rest } = item
        return { ...rest, metadata: { name, namespace, labels, annotations } }
      }),
  }
}

/** From docs/gitops/README.md. */
function documentedRole(): string {
  const page = readFileSync(join(ROOT, 'docs/gitops/README.md'), 'utf8')
  return /```yaml prune\n(.*?)```/s.exec(page)![1]!
}
