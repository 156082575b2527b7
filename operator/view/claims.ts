import { pathOf } from './resource_types.ts'
import type { Resource } from '../source/resource.ts'

/**
 * Who holds a name that several resources claim: whoever is recorded as its owner; where nobody is, the oldest, by
 * creationTimestamp, then namespace/name, then uid. Deterministic, whatever was seen first. Undefined when nobody
 * claims it.
 */
export function holderOf<R extends Resource>(claimants: readonly R[], recordedUid: string | undefined): R | undefined {
  const recorded = claimants.find(({ metadata }) => metadata.uid === recordedUid)
  return recorded ?? claimants.toSorted(byAge)[0]
}

function byAge({ metadata: a }: Resource, { metadata: b }: Resource): number {
  return (
    Date.parse(a.creationTimestamp) - Date.parse(b.creationTimestamp) ||
    compare(pathOf(a), pathOf(b)) ||
    compare(a.uid, b.uid)
  )
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
