import type { RealmField } from '../../crds/realm.gen.ts'
import { fieldRole } from '../../store/realms.ts'
import type { FieldPair } from '../../keyring/keyring.ts'
import type { EncryptionField } from '../../store/realms.ts'
import type { RealmResource } from '../view/resource_types.ts'
import type { DefinedRoles } from './expand_roles.ts'

/** The encrypted fields of a Realm's spec, with their default tags. */
export function specFields({ spec }: RealmResource): EncryptionField[] {
  return (spec.fieldEncryption?.fields ?? []).map(({ name, tag, binding, maxValueBytes }: RealmField) => ({
    name,
    tag: tag ?? name.toLowerCase(),
    binding,
    maxValueBytes,
  }))
}

/** The part of a field that the keyring records permanently. */
export function pairOf({ name, tag, binding }: EncryptionField): FieldPair {
  return { field: name, tag, binding }
}

/** The fields of `wanted` that have their pair in `pairs`. */
export function fieldsPaired(wanted: readonly EncryptionField[], pairs: readonly FieldPair[]): EncryptionField[] {
  return wanted.filter((field) =>
    pairs.some((pair) => pair.field === field.name && pair.tag === field.tag && pair.binding === field.binding),
  )
}

/** `status.encryptionFields`: the fields, and the roles that encrypt and decrypt them. */
export function fieldStatus(fields: readonly EncryptionField[]) {
  return fields.map(({ name, tag }) => ({
    name,
    tag,
    encryptRole: fieldRole(tag, 'encrypt'),
    decryptRole: fieldRole(tag, 'decrypt'),
  }))
}

/** The roles of a Realm's spec, and those of its encrypted fields. */
export function definedRoles(realm: RealmResource): DefinedRoles {
  const fields = fieldStatus(specFields(realm))
  return {
    roles: realm.spec.roles ?? [],
    fieldRoles: fields.flatMap(({ encryptRole, decryptRole }) => [encryptRole, decryptRole]),
  }
}
