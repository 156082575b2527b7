import { createHash } from 'node:crypto'
import type { ManagedFields } from '../../../kubernetes/api_object.ts'
import { printable } from '../../../process/printable.ts'

/** The field managers of kubectl's commands. */
const KUBECTL = /^kubectl(-[a-z-]+)?$/

/**
 * The program that wrote the claim `spec.requestedBy`, by its field manager. Undefined for kubectl, with which people
 * submit in their own name. Clients choose their field manager, so the result is a hint, and its absence proves nothing.
 */
export function claimantProgram(managedFields: readonly ManagedFields[]): string | undefined {
  const authors = managedFields.filter(({ subresource, fieldsV1 }) => {
    return !subresource && fieldsV1?.['f:spec']?.['f:requestedBy'] !== undefined
  })
  if (authors.length === 0) return 'an unknown client'
  const others = authors.map(({ manager = '' }) => manager || 'a nameless client').filter((name) => !KUBECTL.test(name))
  return others.length === 0 ? undefined : printable(others.join(', '))
}

/**
 * A field manager for each approver: under a shared one, the apply of a second approver would remove the entry of the
 * first.
 */
export function approverFieldManager(userName: string): string {
  return `realmkeeper-approver-${createHash('sha256').update(userName).digest('hex').slice(0, 16)}`
}
