/** What a role of a field permits; rewrapping takes both. */
export type FieldUse = 'encrypt' | 'decrypt'

/** The realm role, and the scope of the same name, without which nobody uses a field. */
export function fieldRole(tag: string, use: FieldUse): string {
  return `_svc_${tag}.self${use}`
}

/** Whether a role or a scope has the shape of a field's, whether or not there is such a field. */
export function isFieldRole(word: string): boolean {
  return FIELD_ROLE.test(word)
}

const FIELD_ROLE = /^_svc_[a-z0-9_]{1,48}\.self(?:en|de)crypt$/
