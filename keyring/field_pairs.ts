import { MAX_FIELD_PAIRS, type FieldPair, type Keyring } from './keyring.ts'

export interface AddedFieldPairs {
  keyring: Keyring
  /** Fields that may be served, new ones included once `keyring` is written. */
  served: FieldPair[]
  /** Fields that contradict a recorded pair (`FieldTagReused`), with the message for the condition. */
  refused: (FieldPair & { message: string })[]
  changed: boolean
}

/**
 * Adds new fields to the pairs of a keyring. A field keeps its tag and binding permanently, and a tag its field, removed
 * fields included: a role that was granted for one field must never give access to another.
 */
export function addFieldPairs(keyring: Keyring, fields: readonly FieldPair[]): AddedFieldPairs {
  const pairs = [...keyring.fields]
  const served: FieldPair[] = []
  const refused: AddedFieldPairs['refused'] = []
  for (const wanted of fields) {
    const message = contradiction(pairs, wanted)
    if (message) {
      refused.push({ ...wanted, message })
      continue
    }
    if (!pairs.some(({ field }) => field === wanted.field)) pairs.push({ ...wanted })
    served.push(wanted)
  }
  const changed = pairs.length !== keyring.fields.length
  return { keyring: changed ? { ...keyring, fields: pairs } : keyring, served, refused, changed }
}

function contradiction(pairs: readonly FieldPair[], wanted: FieldPair): string | undefined {
  const sameField = pairs.find(({ field }) => field === wanted.field)
  if (sameField && sameField.tag !== wanted.tag) {
    return `field "${wanted.field}" has the tag "${sameField.tag}" for ever; "${wanted.tag}" is refused`
  }
  if (sameField && sameField.binding !== wanted.binding) {
    return `field "${wanted.field}" has the binding ${sameField.binding} for ever; ${wanted.binding} is refused`
  }
  const sameTag = pairs.find(({ tag }) => tag === wanted.tag)
  if (sameTag && sameTag.field !== wanted.field) {
    return `tag "${wanted.tag}" belongs to the field "${sameTag.field}" for ever; choose another tag`
  }
  if (!sameField && pairs.length >= MAX_FIELD_PAIRS) {
    return `the realm has had ${MAX_FIELD_PAIRS} fields, the most that its keyring records`
  }
  return undefined
}
