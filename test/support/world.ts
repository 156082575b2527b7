import { mkdir, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import argon2 from 'argon2'
import { noteChange } from '../../store/changes.ts'
import { hashClientSecret, upsertClient } from '../../store/clients.ts'
import type { ClientRow } from '../../store/clients.ts'
import { inTransaction } from '../../store/db.ts'
import { recordKeyVersions } from '../../store/key_versions.ts'
import { announceKeys, recordKeyring as recordManager, recordTokenKeys } from '../../store/keyring_records.ts'
import { namesOf } from '../../keyring/continuity.ts'
import { serializeKeyring } from '../../keyring/keyring.ts'
import type { Keyring } from '../../keyring/keyring.ts'
import { upsertRealm } from '../../store/realms.ts'
import type { PasswordHashing, RealmRow } from '../../store/realms.ts'
import { replaceGrantedRoles } from '../../store/role_assignments.ts'
import { upsertUser } from '../../store/users.ts'
import type { UserRow } from '../../store/users.ts'
import { recordKeyring, recordSecrets } from './canary.ts'
import type { TestDatabase } from './postgres.ts'
import { realmKeyring } from './realm_keyring.ts'
import { clientRow, realmRow, userRow } from './rows.ts'

/** Cheap, because tests do not depend on the cost of a hash. */
export const QUICK_HASHING: PasswordHashing = { memoryKiB: 1024, iterations: 1, parallelism: 1 }

/** Writes rows and keyrings as the operator does. */
export interface TestWorld {
  database: TestDatabase
  keyringDir: string
  /** Adds a realm with a keyring; without one when `keyring` is null. */
  addRealm(row?: Partial<RealmRow>, keyring?: Keyring | null): Promise<RealmRow>
  /** Adds a client, which is confidential when it has a secret. */
  addClient(row?: Partial<Omit<ClientRow, 'settings'>> & ClientOverrides, secret?: string): Promise<ClientRow>
  addUser(row?: Partial<UserRow>, password?: string): Promise<UserRow>
  /** Replaces the roles of a subject, or of the realm's default group (`everybody`). */
  grant(realm: string, subject: string, roles: string[], expiresAt?: Date): Promise<void>
  writeKeyring(keyring: Keyring, place?: { namespace: string; name: string }): Promise<void>
}

export interface ClientOverrides {
  settings?: Partial<ClientRow['settings']>
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on TCP
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export function testWorld(database: TestDatabase, keyringDir: string): TestWorld {
  const { pool } = database
  const world: TestWorld = {
    database,
    keyringDir,
    async addRealm(given = {}, keyring) {
      const row = realmRow({ passwordHashing: QUICK_HASHING, ...given })
      if (keyring !== null) {
        const written = keyring ?? (await realmKeyring({ realm: row.realm }))
        await recordKeyVersions(pool, row.realm, written.encryption, new Date())
        await world.writeKeyring(written, { namespace: row.keyringNamespace, name: row.keyringName })
      }
      await inTransaction(pool, async (db) => {
        await upsertRealm(db, row)
        await noteChange(db, { realm: row.realm, kind: 'realm', key: row.realm }, new Date())
      })
      return row
    },
    async addClient({ settings, ...given } = {}, secret) {
      const base = clientRow()
      const row = { ...base, name: given.clientId ?? base.name, ...given, settings: { ...base.settings, ...settings } }
      if (secret !== undefined) {
        recordSecrets(secret)
        const { salt, hash } = hashClientSecret(secret)
        Object.assign(row, { type: 'Confidential', secretSalt: salt, secretHash: hash, ...given })
      }
      await inTransaction(pool, async (db) => {
        if (!(await upsertClient(db, row))) throw new Error(`client ${row.clientId} belongs to another resource`)
        await noteChange(db, { realm: row.realm, kind: 'client', key: row.clientId }, new Date())
      })
      return row
    },
    async addUser(given = {}, password) {
      recordSecrets(password)
      const row = userRow({
        ...(password !== undefined && {
          passwordHash: await hashPassword(password, QUICK_HASHING),
          passwordSource: 'test',
        }),
        ...given,
      })
      const saved = await upsertUser(pool, row)
      if (saved !== 'written') throw new Error(`user ${row.username}: ${saved}`)
      return row
    },
    async grant(realm, subject, roles, expiresAt) {
      const to = subject === 'everybody' ? `default-roles-${realm}` : subject
      await inTransaction(pool, (db) =>
        replaceGrantedRoles(
          db,
          realm,
          `assignment-of-${to}`,
          { kind: subject === 'everybody' ? 'Group' : 'User', subject: to },
          roles.map((role) => ({ role, expiresAt: expiresAt ?? null })),
        ),
      )
    },
    async writeKeyring(
      keyring,
      { namespace, name } = { namespace: 'realmkeeper', name: `realm-${keyring.realm}-keyring` },
    ) {
      recordKeyring(keyring)
      await announceKeys(pool, keyring.realm, namesOf(keyring), new Date())
      await recordTokenKeys(pool, keyring.realm, namesOf(keyring), new Date())
      await recordManager(pool, keyring.realm, { owner: keyring.owner, isExternal: false })
      await mkdir(`${keyringDir}/${namespace}`, { recursive: true })
      const file = `${keyringDir}/${namespace}/${name}.json`
      await writeFile(`${file}.new`, keyringSecret(name, namespace, serializeKeyring(keyring)))
      await rename(`${file}.new`, file)
    },
  }
  return world
}

/** The keyring Secret as the operator writes it. */
export function keyringSecret(name: string, namespace: string, bytes: Buffer): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: { 'realmkeeper.io/keyring': 'true' } },
    type: 'Opaque',
    data: { 'keyring.json': bytes.toString('base64') },
  })
}

export function hashPassword(
  password: string,
  { memoryKiB, iterations, parallelism }: PasswordHashing,
): Promise<string> {
  return argon2.hash(password.normalize('NFC'), {
    type: argon2.argon2id,
    memoryCost: memoryKiB,
    timeCost: iterations,
    parallelism,
    hashLength: 32,
  })
}
