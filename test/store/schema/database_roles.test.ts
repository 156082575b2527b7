import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { recordAudit } from '../../../store/audit.ts'
import { knownMigrations, migrate } from '../../../store/schema/migrate.ts'
import { realmkeeper } from '../../support/command.ts'
import { databaseWithRoles, quoted } from '../../support/database_roles.ts'
import type { RoleName, RolesWorld } from '../../support/database_roles.ts'
import { hasPostgres14 } from '../../support/postgres.ts'

const AUDIT_ROW = `insert into audit (writer, seq, at, action, realm, details, previous_hash, hash)
  values ($1, 1, now(), 'x', '', '{}', '', '')`

for (const version of [18, 14] as const) {
  describe.skipIf(version === 14 && !hasPostgres14)(`database roles on PostgreSQL ${version}`, () => {
    let world: RolesWorld
    beforeEach(async () => {
      world = await databaseWithRoles(version)
    })
    afterEach(() => world.end())

    const withRoles = () => ({ roles: { server: world.roles.server, operator: world.roles.operator } })

    /** The statements that are not refused for a missing right. */
    async function allowed(role: RoleName, statements: string[]): Promise<string[]> {
      const through: string[] = []
      for (const statement of statements) {
        const error: unknown = await world
          .as(role)
          .query(statement)
          .then(
            () => undefined,
            (reason: unknown) => reason,
          )
        if (error === undefined || Reflect.get(Object(error), 'code') !== '42501')
          through.push(`${statement}: ${String(error)}`)
      }
      return through
    }

    async function tables(): Promise<string[]> {
      const { rows } = await world.database.pool.query(
        `select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`,
      )
      return rows.map(({ relname }) => relname)
    }

    test('a server cannot change the audit, configuration or the schema', async () => {
      await migrate(world.urls.owner, withRoles())
      await recordAudit(world.as('owner'), 'server/a', [
        { at: new Date(), action: 'session_ended', realm: 'acme', details: {} },
      ])
      await recordAudit(world.as('server'), 'server/a', [
        { at: new Date(), action: 'session_ended', realm: 'acme', details: {} },
      ])
      await expect(world.as('server').query(AUDIT_ROW, ['operator/a'])).rejects.toThrow('chains of servers only')
      await expect(
        world
          .as('server')
          .query('create temporary table operator_epoch (epoch bigint)')
          .then(() => world.as('server').query(AUDIT_ROW, ['operator/a'])),
      ).rejects.toThrow('chains of servers only')
      const refused = [
        `update audit set details = ''`,
        'delete from audit',
        'truncate audit',
        'alter table audit disable trigger all',
        'drop table audit',
        'create table mine (id integer)',
        'create function mine() returns integer language sql as $$ select 1 $$',
        'update realms set enabled = true',
        'update clients set enabled = true',
        'update users set enabled = true',
        `insert into granted_roles values ('acme', 'User', 's', 'r', 'uid', null)`,
        'update operator_epoch set epoch = 0',
        'delete from audit_heads',
        'select * from audit_signature',
        `set role ${quoted(world.roles.owner)}`,
        'update migrations set breaking = false',
      ]
      expect(await allowed('server', refused)).toEqual([])
    })

    test('every table is either readable by servers or named here', async () => {
      await migrate(world.urls.owner, withRoles())
      const hidden: string[] = []
      for (const table of await tables()) {
        if ((await allowed('server', [`select from ${table}`])).length === 0) hidden.push(table)
      }
      expect(hidden).toEqual([
        'approval_enforcement',
        'audit_heads',
        'audit_signature',
        'decisions',
        'operator_epoch',
        'realm_governance',
        'realm_removals',
        'resource_lists',
        'role_assignments',
        'spec_proofs',
        'subjects',
        'unproven_confirmations',
      ])
    })

    test('an operator changes every row except those of the audit, and no table', async () => {
      await migrate(world.urls.owner, withRoles())
      for (const table of await tables()) {
        const isKept = table === 'audit' || table === 'migrations'
        expect(await allowed('operator', [`delete from ${table}`]), table).toHaveLength(isKept ? 0 : 1)
      }
      await world.as('operator').query(AUDIT_ROW, ['operator/a'])
      expect(
        await allowed('operator', ['truncate audit', 'drop table audit', 'create table mine (id integer)']),
      ).toEqual([])
    })

    test('a later migration gives rights on its tables, in its own transaction', async () => {
      await migrate(world.urls.owner, withRoles())
      const known = await knownMigrations()
      const sql = 'create table later (id integer); create table realms_of_later (id integer)'
      const migrations = [...known, { id: known.length + 1, name: 'later', breaking: false, sql }]
      // A role that others gave more is limited again.
      await world.database.pool.query(`grant all on audit to ${quoted(world.roles.server)}`)
      await migrate(world.urls.owner, { migrations, ...withRoles() })
      expect(await allowed('operator', ['insert into later values (1)'])).toHaveLength(1)
      expect(await allowed('server', ['select from later', 'delete from audit'])).toEqual([])
      // An older process does not know the tables, and leaves the rights as they are.
      await world.database.pool.query(`grant select on later to ${quoted(world.roles.server)}`)
      await migrate(world.urls.owner, withRoles())
      expect(await allowed('server', ['select from later'])).toHaveLength(1)
    })

    test('a role without the right to migrate finds a migrated database, and otherwise reports what to do', async () => {
      await expect(migrate(world.urls.operator)).rejects.toThrow(/may not change the schema .*--migrate-database-url/)
      await migrate(world.urls.owner, withRoles())
      expect(await migrate(world.urls.operator)).toEqual([])
      await expect(migrate(world.urls.operator, withRoles())).rejects.toThrow(
        /may not change the schema or grant rights/,
      )
    })

    test('roles whose rights cannot be limited are refused, and the command says why', async () => {
      const env = { REALMKEEPER_DATABASE_URL: world.urls.owner }
      const run = async (...args: string[]) => (await realmkeeper(['migrate', ...args], { env })).stderr
      const { server, owner } = world.roles
      expect(await run('--server-database-role', 'absent')).toBe(
        `realmkeeper: the database role absent does not exist: create it with CREATE ROLE "absent" LOGIN PASSWORD '…'\n`,
      )
      // The failed grant took the last migration with it.
      expect(await tables()).not.toContain('audit_heads')
      expect(await run('--server-database-role', new URL(world.database.url).username)).toContain(
        'because it is a superuser',
      )
      expect(await run('--server-database-role', owner)).toContain('it owns the tables, or is a member')
      expect(await run('--server-database-role', server, '--operator-database-role', server)).toContain(
        'different roles',
      )
      await world.database.pool.query('grant create on schema public to public')
      expect(await run('--server-database-role', server)).toContain('REVOKE CREATE ON SCHEMA "public" FROM PUBLIC')
      await world.database.pool.query('revoke create on schema public from public')
      expect(await run('--server-database-role', server)).toBe('')
      await world.database.pool.query(`grant ${quoted(owner)} to ${quoted(server)}`)
      expect(await run('--server-database-role', server)).toContain('it owns the tables, or is a member')
    })
  })
}
