import { randomUUID } from 'node:crypto'
import type { ClientRow } from '../../store/clients.ts'
import type { RealmRow } from '../../store/realms.ts'
import type { NewSession } from '../../store/sessions/sessions.ts'
import type { UserRow } from '../../store/users.ts'

// Rows with consistent defaults; a test gives the members that it is about.

export function realmRow(row: Partial<RealmRow> = {}): RealmRow {
  return {
    realm: 'acme',
    resourceUid: randomUUID(),
    namespace: 'identity',
    name: row.realm ?? 'acme',
    generation: 1,
    enabled: true,
    displayName: null,
    tokens: {
      accessTokenLifetimeSeconds: 300,
      refreshTokenLifetimeSeconds: 1800,
      sessionLifetimeSeconds: 36_000,
      refreshTokenReuseGraceSeconds: 0,
      signingAlgorithm: 'ES256',
    },
    bruteForce: {
      enabled: true,
      maxFailures: 10,
      waitIncrementSeconds: 60,
      maxWaitSeconds: 900,
      failureResetSeconds: 43_200,
    },
    passwordHashing: { memoryKiB: 7168, iterations: 5, parallelism: 1 },
    roles: [],
    fields: [],
    encryption: { missing: ['LicenseMissing'] },
    keyringNamespace: 'realmkeeper',
    keyringName: `realm-${row.realm ?? 'acme'}-keyring`,
    ...row,
  }
}

export function clientRow(row: Partial<ClientRow> = {}): ClientRow {
  return {
    realm: 'acme',
    clientId: 'shop',
    resourceUid: randomUUID(),
    namespace: 'identity',
    name: row.clientId ?? 'shop',
    generation: 1,
    enabled: true,
    type: 'Public',
    secretSource: null,
    secretSalt: null,
    secretHash: null,
    previousSecretSalt: null,
    previousSecretHash: null,
    previousValidUntil: null,
    settings: {
      grantTypes: ['password', 'refresh_token'],
      webOrigins: [],
      fullScopeAllowed: true,
      allowedRoles: [],
      audiences: [],
      defaultScopes: ['profile', 'email'],
      optionalScopes: [],
      accessTokenType: 'at+jwt',
    },
    ...row,
  }
}

export function userRow(row: Partial<UserRow> = {}): UserRow {
  const uid = randomUUID()
  return {
    realm: 'acme',
    subject: uid,
    resourceUid: uid,
    namespace: 'identity',
    name: row.username ?? 'alice',
    generation: 1,
    username: 'alice',
    email: null,
    emailVerified: false,
    firstName: null,
    lastName: null,
    enabled: true,
    attributes: {},
    subjectPinned: false,
    passwordHash: null,
    passwordSource: null,
    ...row,
  }
}

export function newSession(start: Date, session: Partial<NewSession> = {}): NewSession {
  return {
    realm: 'acme',
    sid: randomUUID(),
    clientId: 'shop',
    subject: randomUUID(),
    requestedScope: 'openid',
    authTime: start,
    expiresAt: new Date(start.getTime() + 36_000_000),
    idleExpiresAt: new Date(start.getTime() + 1_800_000),
    refreshKid: 'kid-1',
    ...session,
  }
}
