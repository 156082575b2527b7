import { isDeepStrictEqual } from 'node:util'
import type { EnforcementRecord } from '../../../store/operator/approval_enforcement.ts'
import type { ShippedSet } from './shipped_set.ts'
import { isNotWeaker } from './weaker.ts'

/**
 * Whether uids and generations prove that the recorded rules were in force until now: each recorded object is unchanged,
 * or one edit replaced a spec that a former release shipped by one that is not weaker. A generation counts the edits, so
 * there was no other spec in between. In any order of these edits, each object was at least as strict as recorded. Objects
 * that are new only add rules.
 */
export function isContinuous(
  record: EnforcementRecord,
  now: Pick<EnforcementRecord, 'identities' | 'shipped'>,
  set: ShippedSet,
): boolean {
  return Object.entries(record.identities).every(([name, before]) => {
    const after = now.identities[name]
    if (after?.uid !== before.uid) return false
    if (after.generation === before.generation) return true
    const recorded = record.shipped[name]
    const present = now.shipped[name]
    if (after.generation !== before.generation + 1 || recorded === undefined || present === undefined) return false
    // One edit always changes the spec.
    if (recorded === present) return false
    const former = set.former.get(name)?.get(recorded)
    return former !== undefined && isNotWeaker(name, former, set.present.get(name)?.spec)
  })
}

/** The digest of a spec that equals the shipped one; undefined for a CRD with other texts or columns. */
export function shippedDigest(set: ShippedSet, name: string, spec: unknown): string | undefined {
  const shipped = set.present.get(name)
  return isDeepStrictEqual(shipped?.spec, spec) ? shipped?.digest : undefined
}
