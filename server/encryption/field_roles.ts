/** What a role of a field permits; rewrapping takes both. */
export type FieldUse = 'encrypt' | 'decrypt'

/** The realm role, and the scope of the same name, without which nobody uses a field. */
export function fieldRole(tag: string, use: FieldUse): string {
  return `_svc_${tag}.self${use}`
}
