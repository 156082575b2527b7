/** The role of those who administer a realm; it exists in every realm. */
export const REALM_ADMIN_ROLE = 'svc-realm-admin'

/** An operation on a field; rewrapping needs the roles of both. */
export type FieldUse = 'encrypt' | 'decrypt'

/** The realm role, and the scope of the same name, that permits one operation on one field. */
export function fieldRole(tag: string, use: FieldUse): string {
  return `_svc_${tag}.self${use}`
}

/** Whether a role or a scope has the shape of a field role, whether or not the field exists. */
export function isFieldRole(word: string): boolean {
  return FIELD_ROLE.test(word)
}

const FIELD_ROLE = /^_svc_[a-z0-9_]{1,48}\.self(?:en|de)crypt$/
