import type { RoleAssignmentSpec } from '../../crds/role_assignment.gen.ts'
import { printable } from '../../process/printable.ts'
import { nameKey } from './status_decisions.ts'

/** The members of spec that name accounts. Admission requires that they name each account that wrote the request. */
export type Writers = Readonly<
  Pick<RoleAssignmentSpec, 'requestedBy'> & {
    submittedBy?: string | undefined
    formerRequesters?: readonly string[] | undefined
  }
>

/** The keys (`nameKey`) of the accounts that cannot decide, because they wrote the request since its last grant. */
export function writerKeys({ requestedBy, submittedBy, formerRequesters = [] }: Writers): ReadonlySet<string> {
  const names = [requestedBy, ...(submittedBy === undefined ? [] : [submittedBy]), ...formerRequesters]
  return new Set(names.map(nameKey))
}

/**
 * Whether `requestedBy` is a claim. Admission lets only the requester itself write its name as `submittedBy`. An absent
 * name proves nothing: the object may be older than this rule.
 */
export function isClaim({ requestedBy, submittedBy }: Writers): boolean {
  return submittedBy !== requestedBy
}

/** The requester in a message: `carol`, `carol (a claim)` or `carol (as claimed by gitops)`. */
export function requesterText(writers: Pick<Writers, 'requestedBy' | 'submittedBy'>): string {
  const requester = printable(writers.requestedBy)
  if (!isClaim(writers)) return requester
  const { submittedBy } = writers
  return `${requester} (${submittedBy === undefined ? 'a claim' : `as claimed by ${printable(submittedBy)}`})`
}
