import { commonInvalid, condition, written } from './case.ts'
import type { KindCases } from './case.ts'

export const realmCases: KindCases = {
  kind: 'Realm',
  smallest: () => written('Realm', 'shop', {}),
  valid: () =>
    written(
      'Realm',
      'shop',
      {
        realm: 'shop',
        displayName: 'The shop',
        enabled: true,
        roles: [
          { name: 'reader', description: 'Reads.' },
          { name: 'writer', composites: ['reader'] },
        ],
        tokens: {
          accessTokenLifetimeSeconds: 60,
          refreshTokenLifetimeSeconds: 600,
          sessionLifetimeSeconds: 6000,
          refreshTokenReuseGraceSeconds: 5,
          signingAlgorithm: 'ES256',
          notBefore: '2030-01-01T00:00:00Z',
        },
        bruteForceProtection: {
          enabled: true,
          maxFailures: 3,
          waitIncrementSeconds: 1,
          maxWaitSeconds: 60,
          failureResetSeconds: 600,
        },
        passwordHashing: { memoryKiB: 19456, iterations: 2, parallelism: 1 },
        identityProvider: { alias: 'local', licenseSecretRef: { name: 'license', key: 'license' } },
        identityGovernance: {
          enabled: true,
          requiredApprovals: 2,
          extraApprovalForClaims: true,
          pendingTimeoutSeconds: 3600,
        },
        fieldEncryption: {
          fields: [{ name: 'dateOfBirth', tag: 'dob', binding: 'Subject', maxValueBytes: 64 }, { name: 'taxNumber' }],
        },
        keyRotation: { signingKeyPeriodDays: 30, encryptionKeyPeriodDays: 60 },
        allowedNamespaces: {
          from: 'Selector',
          selector: {
            matchLabels: { tenant: 'true' },
            matchExpressions: [{ key: 'team', operator: 'In', values: ['a', 'b'] }],
          },
        },
        deletionPolicy: 'Delete',
      },
      {
        observedGeneration: 1,
        issuer: 'https://id.example.com/auth/realms/shop',
        defaultRoles: ['reader'],
        encryptionFields: [
          { name: 'dateOfBirth', tag: 'dob', encryptRole: '_svc_dob.selfencrypt', decryptRole: '_svc_dob.selfdecrypt' },
        ],
        keys: {
          signing: [
            { kid: 'a', algorithm: 'ES256', state: 'active', fingerprint: 'ff', since: '2030-01-01T00:00:00Z' },
          ],
          refresh: [{ kid: 'b', state: 'active', fingerprint: 'ff', since: '2030-01-01T00:00:00Z' }],
          encryption: [{ version: 1, state: 'primary', fingerprint: 'ff', since: '2030-01-01T00:00:00Z' }],
        },
        conditions: [{ ...condition }],
      },
    ),
  alsoValid: [
    {
      name: 'a long name with spec.realm',
      change: (o) => (o.metadata['name'] = `${'a'.repeat(200)}.b`),
    },
    { name: 'a reserved metadata.name with another spec.realm', change: (o) => (o.metadata['name'] = 'admin') },
    { name: 'null is absent', change: (o) => (o.spec.displayName = null) },
    { name: 'null takes the default', change: (o) => (o.spec.tokens.signingAlgorithm = null) },
    {
      name: 'any namespace',
      change: (o) => (o.spec.allowedNamespaces = { from: 'All' }),
    },
    {
      name: 'a label that exists',
      change: (o) => (o.spec.allowedNamespaces.selector.matchExpressions = [{ key: 'a', operator: 'Exists' }]),
    },
    { name: 'a role name in any script', change: (o) => (o.spec.roles[0].name = 'Prüfer 審査') },
  ],
  invalid: [
    ...commonInvalid,
    {
      name: 'row 90: text for a boolean',
      breakIt: (o) => (o.spec.enabled = 'yes'),
      path: 'spec.enabled',
      message: /must be a boolean/,
    },
    {
      name: 'row 90: 10,000 roles',
      breakIt: (o) => (o.spec.roles = Array.from({ length: 10_000 }, (_, index) => ({ name: `r${index}` }))),
      path: 'spec.roles',
      message: /more than 512 items/,
    },
    {
      name: 'row 91: metadata.name of 253 characters as realm name',
      breakIt: (o) => {
        delete o.spec.realm
        o.metadata['name'] = 'a'.repeat(253)
      },
      path: 'spec.realm',
      message: /must then be a DNS label/,
    },
    {
      name: 'row 91: metadata.name with a dot as realm name',
      breakIt: (o) => {
        delete o.spec.realm
        o.metadata['name'] = 'a.b'
      },
      path: 'spec.realm',
      message: /must then be a DNS label/,
    },
    {
      name: 'row 91: the realm name master',
      breakIt: (o) => (o.spec.realm = 'master'),
      path: 'spec.realm',
      message: /reserved/,
    },
    {
      name: 'row 91: the realm name admin, from metadata.name',
      breakIt: (o) => {
        delete o.spec.realm
        o.metadata['name'] = 'admin'
      },
      path: 'spec.realm',
      message: /reserved/,
    },
    {
      name: 'row 91: a realm name that would collide after normalisation',
      breakIt: (o) => (o.spec.realm = 'Shop'),
      path: 'spec.realm',
      message: /does not match/,
    },
    {
      name: 'row 91: a realm name with system:',
      breakIt: (o) => (o.spec.realm = 'system:shop'),
      path: 'spec.realm',
      message: /does not match/,
    },
    {
      name: 'a realm name of 64 characters',
      breakIt: (o) => (o.spec.realm = 'a'.repeat(64)),
      path: 'spec.realm',
      message: /longer than 63/,
    },
    {
      name: 'a control character in a display name',
      breakIt: (o) => (o.spec.displayName = 'a\u001b[31m'),
      path: 'spec.displayName',
      message: /does not match/,
    },
    {
      name: 'a reserved role of a field',
      breakIt: (o) => (o.spec.roles[0].name = '_svc_dob.selfdecrypt'),
      path: 'spec.roles[0].name',
      message: /reserved/,
    },
    {
      name: 'the reserved role svc-realm-admin',
      breakIt: (o) => (o.spec.roles[0].name = 'svc-realm-admin'),
      path: 'spec.roles[0].name',
      message: /reserved/,
    },
    {
      name: 'a reserved default role',
      breakIt: (o) => (o.spec.roles[0].name = 'default-roles-shop'),
      path: 'spec.roles[0].name',
      message: /reserved/,
    },
    {
      name: 'a composite of a reserved role',
      breakIt: (o) => (o.spec.roles[1].composites = ['svc-realm-admin']),
      path: 'spec.roles[1].composites[0]',
      message: /assign it with a RoleAssignment/,
    },
    {
      name: 'a duplicate role',
      breakIt: (o) => (o.spec.roles[1] = { name: 'reader' }),
      path: 'spec.roles[1]',
      message: /the same name as item 0/,
    },
    {
      name: 'a duplicate composite',
      breakIt: (o) => (o.spec.roles[1].composites = ['reader', 'reader']),
      path: 'spec.roles[1].composites[1]',
      message: /is equal to item 0/,
    },
    {
      name: 'an access token that outlives the refresh token',
      breakIt: (o) => (o.spec.tokens.accessTokenLifetimeSeconds = 601),
      path: 'spec.tokens.accessTokenLifetimeSeconds',
      message: /cannot be more than refreshTokenLifetimeSeconds/,
    },
    {
      name: 'a default that conflicts with another field',
      breakIt: (o) => (o.spec.tokens = { refreshTokenLifetimeSeconds: 200 }),
      path: 'spec.tokens.accessTokenLifetimeSeconds',
      message: /cannot be more than refreshTokenLifetimeSeconds/,
    },
    {
      name: 'a refresh token that outlives the session',
      breakIt: (o) => (o.spec.tokens.sessionLifetimeSeconds = 599),
      path: 'spec.tokens.refreshTokenLifetimeSeconds',
      message: /cannot be more than sessionLifetimeSeconds/,
    },
    {
      name: 'an unknown algorithm',
      breakIt: (o) => (o.spec.tokens.signingAlgorithm = 'none'),
      path: 'spec.tokens.signingAlgorithm',
      message: /one of RS256, PS256, ES256, ES384, EdDSA/,
    },
    {
      name: 'an invalid time',
      breakIt: (o) => (o.spec.tokens.notBefore = 'now'),
      path: 'spec.tokens.notBefore',
      message: /RFC 3339/,
    },
    {
      name: 'a fraction for an integer',
      breakIt: (o) => (o.spec.tokens.accessTokenLifetimeSeconds = 1.5),
      path: 'spec.tokens.accessTokenLifetimeSeconds',
      message: /must be an integer/,
    },
    {
      name: 'a lifetime of zero',
      breakIt: (o) => (o.spec.tokens.accessTokenLifetimeSeconds = 0),
      path: 'spec.tokens.accessTokenLifetimeSeconds',
      message: /less than 1/,
    },
    {
      name: 'a first wait longer than the longest',
      breakIt: (o) => (o.spec.bruteForceProtection.waitIncrementSeconds = 61),
      path: 'spec.bruteForceProtection.waitIncrementSeconds',
      message: /cannot be more than maxWaitSeconds/,
    },
    {
      name: 'a hash that needs too much memory',
      breakIt: (o) => (o.spec.passwordHashing.memoryKiB = 2_097_152),
      path: 'spec.passwordHashing.memoryKiB',
      message: /more than 65536/,
    },
    {
      name: 'a hash that takes too long',
      breakIt: (o) => (o.spec.passwordHashing = { memoryKiB: 65_536, iterations: 9 }),
      path: 'spec.passwordHashing.memoryKiB',
      message: /keep a core busy/,
    },
    {
      name: 'row 96: a license in the spec',
      breakIt: (o) => (o.spec.identityProvider.license = 'eyJ'),
      path: 'spec.identityProvider.license',
      message: /unknown field/,
    },
    {
      name: 'an identity provider without alias',
      breakIt: (o) => delete o.spec.identityProvider.alias,
      path: 'spec.identityProvider.alias',
      message: /is required/,
    },
    {
      name: 'more than 16 approvals',
      breakIt: (o) => (o.spec.identityGovernance.requiredApprovals = 17),
      path: 'spec.identityGovernance.requiredApprovals',
      message: /more than 16/,
    },
    {
      name: 'two fields of one tag, one by default',
      breakIt: (o) => (o.spec.fieldEncryption.fields = [{ name: 'DOB' }, { name: 'dateOfBirth', tag: 'dob' }]),
      path: 'spec.fieldEncryption.fields',
      message: /same tag/,
    },
    {
      name: 'a field name that is not a valid tag',
      breakIt: (o) => delete Object.assign(o.spec.fieldEncryption.fields[0], { name: 'date-of-birth' }).tag,
      path: 'spec.fieldEncryption.fields[0].tag',
      message: /set tag/,
    },
    {
      name: 'a field name that is too long for a tag',
      breakIt: (o) => (o.spec.fieldEncryption.fields[1].name = 'a'.repeat(49)),
      path: 'spec.fieldEncryption.fields[1].tag',
      message: /set tag/,
    },
    {
      name: 'a tag in capitals',
      breakIt: (o) => (o.spec.fieldEncryption.fields[0].tag = 'DOB'),
      path: 'spec.fieldEncryption.fields[0].tag',
      message: /does not match/,
    },
    {
      name: 'a value limit over 64 KiB',
      breakIt: (o) => (o.spec.fieldEncryption.fields[0].maxValueBytes = 65_537),
      path: 'spec.fieldEncryption.fields[0].maxValueBytes',
      message: /more than 65536/,
    },
    {
      name: '65 fields',
      breakIt: (o) => (o.spec.fieldEncryption.fields = Array.from({ length: 65 }, (_, i) => ({ name: `f${i}` }))),
      path: 'spec.fieldEncryption.fields',
      message: /more than 64 items/,
    },
    {
      name: 'an unused selector',
      breakIt: (o) => (o.spec.allowedNamespaces.from = 'All'),
      path: 'spec.allowedNamespaces.selector',
      message: /must be set if from is Selector/,
    },
    {
      name: 'a missing selector',
      breakIt: (o) => delete o.spec.allowedNamespaces.selector,
      path: 'spec.allowedNamespaces.selector',
      message: /must be set if from is Selector/,
    },
    {
      name: 'a requirement without values',
      breakIt: (o) => delete o.spec.allowedNamespaces.selector.matchExpressions[0].values,
      path: 'spec.allowedNamespaces.selector.matchExpressions[0].values',
      message: /require values/,
    },
    {
      name: 'key material in status',
      breakIt: (o) => (o.status.keys.encryption[0].key = 'AAAA'),
      path: 'status.keys.encryption[0].key',
      message: /unknown field/,
    },
  ],
  updates: [
    {
      name: 'row 92: another realm name',
      stored: () => {},
      written: (o) => (o.spec.realm = 'store'),
      path: 'spec.realm',
      message: /immutable/,
    },
    {
      name: 'row 92: the realm name removed',
      stored: () => {},
      written: (o) => delete o.spec.realm,
      path: 'spec.realm',
      message: /cannot be removed/,
    },
    {
      name: 'row 92: a realm name set later to another one',
      stored: (o) => delete o.spec.realm,
      written: (o) => (o.spec.realm = 'store'),
      path: 'spec.realm',
      message: /the name in use/,
    },
    { name: 'the realm name set later to the one in use', stored: (o) => delete o.spec.realm, written: () => {} },
    { name: 'anything else changed', stored: () => {}, written: (o) => (o.spec.displayName = 'Store') },
  ],
}
