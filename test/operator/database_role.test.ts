import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrate } from '../../store/schema/migrate.ts'
import { databaseWithRoles } from '../support/database_roles.ts'
import type { RolesWorld } from '../support/database_roles.ts'
import { assignment, client, password, realm, user } from './manifests.ts'
import { eventually, operatorUnderTest } from './operator_under_test.ts'
import type { OperatorUnderTest } from './operator_under_test.ts'

describe('an operator with the rights of its database role', () => {
  let world: RolesWorld
  let operator: OperatorUnderTest
  beforeEach(async () => {
    world = await databaseWithRoles()
    operator = await operatorUnderTest()
  })
  afterEach(async () => {
    await operator.end()
    await world.end()
  })

  const deniedLines = () => operator.log.filter((line) => JSON.stringify(line).includes('permission denied'))

  test('migrates as the owner, and reconciles, deletes and signs the audit as its own role', async () => {
    await operator.write('realm.yaml', realm(), client('app', { type: 'Public' }))
    await operator.write(
      'alice.yaml',
      user('alice'),
      password('alice'),
      assignment('alice', 'alice', ['svc-realm-admin']),
    )
    await operator.start(
      {},
      {
        databaseUrl: world.urls.operator,
        migrateDatabaseUrl: world.urls.owner,
        serverDatabaseRole: world.roles.server,
        operatorDatabaseRole: world.roles.operator,
        resyncSeconds: 10,
      },
    )
    await operator.untilReady('User', 'alice')
    await operator.remove('alice.yaml')
    await eventually(async () => {
      const { rowCount } = await world.database.pool.query('select from users')
      expect(rowCount).toBe(0)
    })
    await operator.stop()
    expect((await world.database.pool.query('select from audit_signature')).rowCount).toBe(1)
    expect((await world.database.pool.query('select from sessions')).rowCount).toBe(0)
    expect(deniedLines()).toEqual([])
  })

  test('waits for a migration that it may not make itself', async () => {
    await operator.write('realm.yaml', realm())
    const starting = operator.start({}, { databaseUrl: world.urls.operator })
    await eventually(() => {
      expect(operator.log).toContainEqual(
        expect.objectContaining({ msg: 'the operator waits until the database is migrated' }),
      )
    })
    await migrate(world.urls.owner, { roles: { operator: world.roles.operator } })
    await starting
    await operator.untilReady('Realm', 'shop')
  })
})
