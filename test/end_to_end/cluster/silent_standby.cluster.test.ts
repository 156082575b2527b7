import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { accountOf } from '../../support/control_plane/account.ts'
import { startFaultProxy } from '../../support/fault_proxy.ts'
import { clusterWorld, until } from './cluster_world.ts'
import { KEYRING_NAMESPACE } from './rights.ts'

describe('an operator that stands by', () => {
  test('row 120: its watches have gone silent without a stall yet; when it leads, it takes no row for a leftover', async () => {
    const world = await clusterWorld()
    onTestFinished(() => world.end())
    await world.applyQuickstart()
    await world.untilReady('users', 'alice')

    const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-standby-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const account = await world.plane.serviceAccount(KEYRING_NAMESPACE, 'operator')
    const proxy = await startFaultProxy(world.plane, { as: account })
    onTestFinished(() => proxy.stop())
    const as = accountOf('standby', { ...account.identity, server: proxy.url }, folder)
    const standby = await world.startOperator({ as })
    await until(async () => expect(await standby.isReady()).toBe(true))
    proxy.setSilence(true)

    const carol = { realmRef: { name: 'quickstart' }, username: 'carol' }
    const metadata = { name: 'carol', namespace: 'quickstart' }
    const path = '/apis/realmkeeper.io/v1alpha1/namespaces/quickstart/users'
    await world.plane.admin.do('POST', path, {
      apiVersion: 'realmkeeper.io/v1alpha1',
      kind: 'User',
      metadata,
      spec: carol,
    })
    const row = async (): Promise<unknown> =>
      (await world.database.pool.query(`select xmin::text, ctid::text from users where name = 'carol'`)).rows
    await until(async () => expect(await row()).toHaveLength(1))
    const before = await row()

    await world.operator.kill()
    await until(() => expect(standby.output()).toContain('this operator leads'))
    await until(async () => expect(await standby.isReady()).toBe(true))
    // Written after the sweep.
    await world.untilReady('users', 'alice')
    expect(await row()).toEqual(before)
    proxy.setSilence(false)
  })
})
