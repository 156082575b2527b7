import type { EncryptionField } from '../../store/realms.ts'
import { fieldRole } from '../../store/field_roles.ts'
import type { FieldUse } from '../../store/field_roles.ts'

/** What decides on a caller: the words and roles that the token carries, and the roles that its user holds now. */
export interface FieldCaller {
  scope: readonly string[]
  tokenRoles: readonly string[]
  rolesNow: readonly string[]
}

export type Permission =
  | { permitted: true; field: EncryptionField }
  /** `scope` is told only to those who hold the roles: to all others an unknown field looks like a foreign one. */
  | { permitted: false; scope?: string }

/** Whether the caller may use the field of this name; `uses` are all needed. */
export function decidePermission(
  fields: readonly EncryptionField[],
  name: string,
  uses: readonly FieldUse[],
  caller: FieldCaller,
): Permission {
  const field = fields.find((each) => each.name === name)
  if (!field) return { permitted: false }
  const roles = uses.map((use) => fieldRole(field.tag, use))
  if (!roles.every((role) => caller.rolesNow.includes(role))) return { permitted: false }

  const inToken = roles.every((role) => caller.scope.includes(role) && caller.tokenRoles.includes(role))
  if (inToken && caller.scope.includes('openid')) return { permitted: true, field }
  return { permitted: false, scope: ['openid', ...roles].join(' ') }
}
