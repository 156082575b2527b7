import { expect, test } from 'vitest'
import {
  encryptionCondition,
  hashingConditions,
  preconditionConditions,
  preconditions,
} from '../../../operator/realm/conditions.ts'
import type { AdminUntil, EncryptionFacts } from '../../../operator/realm/conditions.ts'
import type { LicenseState } from '../../../operator/realm/license.ts'
import type { RealmResource } from '../../../operator/view/resource_types.ts'

const UNTIL = new Date('2030-06-01T00:00:00Z')
const LICENSED: LicenseState = {
  condition: { type: 'LicenseValid', status: 'True', reason: 'Licensed', message: 'valid' },
  expiresAt: UNTIL,
}
const UNLICENSED: LicenseState = {
  condition: { type: 'LicenseValid', status: 'False', reason: 'LicenseUnknownKey', message: 'signed by none' },
}
const GOOD: EncryptionFacts = { wanted: 1, refused: [], unlisted: [], keysProblem: undefined, hasPrimaryKey: true }

const governance = (enabled: boolean) => ({ enabled, requiredApprovals: 2 })

const NOTHING_MISSING = { missing: [], licenseExpiresAt: UNTIL.toISOString() }

test.each<[string, boolean, LicenseState, AdminUntil, ReturnType<typeof preconditions>]>([
  ['all are met', true, LICENSED, null, NOTHING_MISSING],
  ['the administrator has an end', true, LICENSED, UNTIL, { ...NOTHING_MISSING, realmAdminUntil: UNTIL.toISOString() }],
  ['no administrator', true, LICENSED, undefined, { ...NOTHING_MISSING, missing: ['RealmAdminNotAssigned'] }],
  ['no governance', false, LICENSED, null, { ...NOTHING_MISSING, missing: ['GovernanceDisabled'] }],
  ['no license', true, UNLICENSED, null, { missing: ['LicenseUnknownKey'] }],
  [
    'nothing',
    false,
    UNLICENSED,
    undefined,
    { missing: ['LicenseUnknownKey', 'GovernanceDisabled', 'RealmAdminNotAssigned'] },
  ],
])('preconditions of field encryption: %s', (_what, governed, license, adminUntil, expected) => {
  expect(preconditions(preconditionConditions(governance(governed), license, adminUntil), license, adminUntil)).toEqual(
    expected,
  )
})

const MET = preconditionConditions(governance(true), LICENSED, null)
const UNMET = preconditionConditions(governance(false), UNLICENSED, undefined)
test('GovernanceEnabled names the extra approval for claims', () => {
  const message = (extraApprovalForClaims: boolean) =>
    preconditionConditions({ enabled: true, requiredApprovals: 2, extraApprovalForClaims }, LICENSED, null)
      .filter(({ type }) => type === 'GovernanceEnabled')
      .map((condition) => condition.message)
  expect(message(false)).toEqual(['role assignments need 2 approval(s)'])
  expect(message(true)).toEqual(['role assignments need 2 approval(s), and one more if the requester is a claim'])
})

const REFUSED = [{ message: 'tag "dob" belongs to the field "birth" for ever' }]
const TROUBLE = { reason: 'KeyringLost', message: 'There is no keyring' }

test.each<[string, typeof MET, Partial<EncryptionFacts>, string, RegExp]>([
  ['everything is met', MET, {}, 'Available', /can be encrypted/],
  ['no fields', UNMET, { wanted: 0 }, 'NoFields', /lists no field/],
  ['something is missing', UNMET, {}, 'LicenseUnknownKey', /LicenseValid: .*GovernanceEnabled: .*RealmAdminAssigned: /],
  ['a tag is reused', MET, { refused: REFUSED }, 'FieldTagReused', /for ever/],
  ['a tag is reused and more is missing', UNMET, { refused: REFUSED }, 'FieldTagReused', /for ever.*GovernanceEnabled/],
  ['the keyring cannot be used', UNMET, { keysProblem: TROUBLE }, 'KeyringLost', /no keyring/],
  ['the keyring is managed elsewhere', MET, { unlisted: ['salary'] }, 'FieldNotInKeyring', /salary/],
  ['there is no key yet', MET, { hasPrimaryKey: false }, 'NoEncryptionKey', /no primary/],
])('FieldEncryptionReady: %s', (_what, unmet, facts, reason, message) => {
  const condition = encryptionCondition(unmet, { ...GOOD, ...facts })
  expect(condition.reason).toBe(reason)
  expect(condition.status).toBe(reason === 'Available' ? 'True' : 'False')
  expect(condition.message).toMatch(message)
})

test('a Realm whose hashes a process cannot run says with what they are lowered to', () => {
  const realm = (memoryKiB: number, iterations: number): RealmResource =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the condition reads nothing else
    ({ spec: { passwordHashing: { memoryKiB, iterations, parallelism: 1 } } }) as RealmResource
  expect(hashingConditions(realm(65_536, 8))).toEqual([])
  expect(hashingConditions(realm(262_144, 64))).toMatchObject([
    { status: 'False', reason: 'Lowered', message: expect.stringContaining('memoryKiB 65536, iterations 8') },
  ])
})
