import { describe, expect, test } from 'vitest'
import { fieldRole } from '../../../store/realms.ts'
import type { EncryptionField, FieldUse } from '../../../store/realms.ts'
import { decidePermission } from '../../../server/encryption/permission.ts'
import type { FieldCaller } from '../../../server/encryption/permission.ts'

const dob: EncryptionField = { name: 'dateOfBirth', tag: 'dob', binding: 'Realm', maxValueBytes: 4096 }
const iban: EncryptionField = { name: 'iban', tag: 'iban', binding: 'Realm', maxValueBytes: 4096 }
const enc = '_svc_dob.selfencrypt'
const dec = '_svc_dob.selfdecrypt'

test('a field has one role for each use', () => {
  expect((['encrypt', 'decrypt'] as const).map((use) => fieldRole('dob', use))).toEqual([enc, dec])
})

const all: FieldCaller = { scope: ['openid', enc, dec], tokenRoles: [enc, dec], rolesNow: [enc, dec] }

test('a caller with the role, in the scope and in the token, may use the field', () => {
  for (const uses of [['encrypt'], ['decrypt'], ['encrypt', 'decrypt']] as FieldUse[][]) {
    expect(decidePermission([iban, dob], 'dateOfBirth', uses, all)).toEqual({ permitted: true, field: dob })
  }
})

describe('row 57: a caller who lacks one of these is refused', () => {
  test.for<[string, Partial<FieldCaller>, FieldUse[], string | undefined]>([
    ['scope without openid', { scope: [enc] }, ['encrypt'], `openid ${enc}`],
    ['scope without the role', { scope: ['openid', dec] }, ['encrypt'], `openid ${enc}`],
    ['token without the role', { tokenRoles: [dec] }, ['encrypt'], `openid ${enc}`],
    ['one of two scopes', { scope: ['openid', enc] }, ['encrypt', 'decrypt'], `openid ${enc} ${dec}`],
    ['role withdrawn since', { rolesNow: [dec] }, ['encrypt'], undefined],
    ['one of two roles withdrawn', { rolesNow: [dec] }, ['encrypt', 'decrypt'], undefined],
    ['nothing at all', { scope: [], tokenRoles: [], rolesNow: [] }, ['encrypt'], undefined],
  ])('%s', ([, caller, uses, scope]) => {
    expect(decidePermission([dob], 'dateOfBirth', uses, { ...all, ...caller })).toEqual({
      permitted: false,
      ...(scope !== undefined && { scope }),
    })
  })

  test('an unknown field looks like one that is not for the caller', () => {
    const foreign = decidePermission([dob, iban], 'iban', ['encrypt'], all)
    for (const name of ['unknown', '', 'dob', 'DateOfBirth', '__proto__', 'constructor', enc]) {
      expect(decidePermission([dob, iban], name, ['encrypt'], all)).toEqual(foreign)
    }
  })
})
