import type { ManagedFields } from '../../../kubernetes/api_object.ts'
import { printable } from '../../../process/printable.ts'

/** What kubectl calls itself as the author of fields, by its commands. */
const KUBECTL = /^kubectl(-[a-z-]+)?$/

/**
 * What wrote `spec.requestedBy`, where that may be the claim of another account: its field manager. Undefined where
 * that is kubectl, which people use in their own name.
 *
 * Admission holds `requestedBy` to be whoever writes the spec, unless that account may submit for others. Nothing in the
 * object tells which account that was: only the API server's audit log does. A field manager is what the writer's
 * client calls itself, so this is a hint. Its absence proves nothing.
 */
export function submitterOf(managedFields: readonly ManagedFields[]): string | undefined {
  const authors = managedFields.filter(({ subresource, fieldsV1 }) => {
    return !subresource && fieldsV1?.['f:spec']?.['f:requestedBy'] !== undefined
  })
  if (authors.length === 0) return 'an unknown client'
  const others = authors.map(({ manager = '' }) => manager || 'a nameless client').filter((name) => !KUBECTL.test(name))
  return others.length === 0 ? undefined : printable(others.join(', '))
}
