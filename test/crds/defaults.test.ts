import { expect, test } from 'vitest'
import { evaluateRules } from '../../crds/validation/cel.ts'
import { isObject, withDefaults } from '../../crds/validation/defaulting.ts'
import { defaultAndValidate } from '../../crds/validation/validation.ts'
import { clientCases } from './cases/client_cases.ts'
import { realmCases } from './cases/realm_cases.ts'
import { roleAssignmentCases } from './cases/role_assignment_cases.ts'
import { userCases } from './cases/user_cases.ts'

test('a Realm gets all its defaults', () => {
  const { spec } = defaultAndValidate('Realm', realmCases.smallest()).value
  expect(spec).toEqual({
    enabled: true,
    tokens: {
      accessTokenLifetimeSeconds: 300,
      refreshTokenLifetimeSeconds: 1800,
      sessionLifetimeSeconds: 36_000,
      refreshTokenReuseGraceSeconds: 0,
      signingAlgorithm: 'RS256',
    },
    bruteForceProtection: {
      enabled: true,
      maxFailures: 10,
      waitIncrementSeconds: 60,
      maxWaitSeconds: 900,
      failureResetSeconds: 43_200,
    },
    passwordHashing: { memoryKiB: 7168, iterations: 5, parallelism: 1 },
    identityGovernance: { enabled: false, requiredApprovals: 1, extraApprovalForClaims: false },
    keyRotation: { signingKeyPeriodDays: 90, encryptionKeyPeriodDays: 365 },
    allowedNamespaces: { from: 'Same' },
    deletionPolicy: 'Retain',
  })
})

test('a field of a Realm gets its defaults', () => {
  const realm = realmCases.smallest()
  realm.spec.fieldEncryption = { fields: [{ name: 'dateOfBirth' }] }
  realm.spec.identityProvider = { alias: 'local', licenseSecretRef: { name: 'license' } }
  const { spec } = defaultAndValidate('Realm', realm).value
  expect(spec).toMatchObject({
    fieldEncryption: { fields: [{ name: 'dateOfBirth', binding: 'Realm', maxValueBytes: 4096 }] },
    identityProvider: { alias: 'local', licenseSecretRef: { name: 'license', key: 'license' } },
  })
})

test('a Client gets all its defaults', () => {
  const { spec } = defaultAndValidate('Client', clientCases.smallest()).value
  expect(spec).toEqual({
    realmRef: { name: 'shop' },
    clientId: 'web',
    enabled: true,
    type: 'Confidential',
    fullScopeAllowed: true,
    grantTypes: ['password', 'refresh_token'],
    defaultScopes: ['profile', 'email'],
    accessTokenType: 'at+jwt',
  })
})

test('a User gets all its defaults', () => {
  const { spec } = defaultAndValidate('User', userCases.smallest()).value
  expect(spec).toEqual({ realmRef: { name: 'shop' }, username: 'alice', emailVerified: false, enabled: true })
})

test('a RoleAssignment has no defaults', () => {
  const written = roleAssignmentCases.smallest()
  expect(defaultAndValidate('RoleAssignment', written).value).toEqual(written)
})

test('null counts as absent, with and without a default', () => {
  const user = userCases.smallest()
  Object.assign(user.spec, { enabled: null, email: null })
  const { value, problems } = defaultAndValidate('User', user)
  expect(problems).toEqual([])
  expect(value['spec']).toEqual({ realmRef: { name: 'shop' }, username: 'alice', emailVerified: false, enabled: true })
})

test('the input object stays unchanged', () => {
  const realm = realmCases.smallest()
  const before = structuredClone(realm)
  defaultAndValidate('Realm', realm)
  expect(realm).toEqual(before)
})

test('two objects share no default value', () => {
  const schema = { properties: { list: { type: 'array', default: ['a'], items: { type: 'string' } } } }
  const first = withDefaults(schema, {})
  expect(first).toEqual({ list: ['a'] })
  if (isObject(first) && Array.isArray(first['list'])) first['list'].push('b')
  expect(first).toEqual({ list: ['a', 'b'] })
  expect(withDefaults(schema, {})).toEqual({ list: ['a'] })
})

test.each(['spec', '', null, 7, [], undefined])('no object at all is a problem, not a crash: %j', (object) => {
  expect(defaultAndValidate('Realm', object).problems).toEqual([{ path: [], message: 'must be an object' }])
})

test('an unknown kind is a problem, not a crash', () => {
  expect(defaultAndValidate('constructor', {}).problems).toHaveLength(1)
})

test('a cyclic object is refused', () => {
  const user = userCases.smallest()
  const loop: Record<string, unknown> = {}
  loop['self'] = [loop, loop]
  Object.assign(user.spec, { attributes: { department: loop }, realmRef: loop })
  Object.assign(user.metadata, { labels: loop, ownerReferences: loop['self'] })
  const { problems } = defaultAndValidate('User', user)
  expect(problems.map(({ path }) => path.join('.'))).toEqual(
    expect.arrayContaining(['metadata.labels.self', 'spec.attributes.department', 'spec.realmRef.self']),
  )
})

test('rules do not follow cyclic metadata', () => {
  const user = userCases.smallest()
  const loop: unknown[] = []
  loop.push(loop, loop)
  Object.assign(user.metadata, { managedFields: loop })
  const { value, problems } = defaultAndValidate('User', user)
  expect(problems).toEqual([])
  expect(evaluateRules('User', value, value)).toEqual({ problems: [], unevaluated: [] })
})
