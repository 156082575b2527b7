import type { RealmField } from '../../crds/realm.gen.ts'
import { fieldRole } from '../../store/field_roles.ts'
import type { FieldPair } from '../../keyring/keyring.ts'
import type { EncryptionField } from '../../store/realms.ts'
import type { RealmResource } from '../view/resource_types.ts'

/** The encrypted fields that a Realm asks for, with their tags. */
export function wantedFields({ spec }: RealmResource): EncryptionField[] {
  return (spec.fieldEncryption?.fields ?? []).map(({ name, tag, binding, maxValueBytes }: RealmField) => ({
    name,
    tag: tag ?? name.toLowerCase(),
    binding,
    maxValueBytes,
  }))
}

/** As the keyring remembers it. */
export function pairOf({ name, tag, binding }: EncryptionField): FieldPair {
  return { field: name, tag, binding }
}

/** The fields among `wanted` whose pairing is among `pairs`. */
export function fieldsPaired(wanted: readonly EncryptionField[], pairs: readonly FieldPair[]): EncryptionField[] {
  return wanted.filter((field) =>
    pairs.some((pair) => pair.field === field.name && pair.tag === field.tag && pair.binding === field.binding),
  )
}

/** `status.encryptionFields`: the fields and the roles that open them. */
export function fieldStatus(fields: readonly EncryptionField[]) {
  return fields.map(({ name, tag }) => ({
    name,
    tag,
    encryptRole: fieldRole(tag, 'encrypt'),
    decryptRole: fieldRole(tag, 'decrypt'),
  }))
}
