/** `spec` of a Lease (coordination.k8s.io/v1), as far as an election reads it. */
export interface LeaseRecord {
  holderIdentity?: string | null
  leaseDurationSeconds?: number
  acquireTime?: string
  renewTime?: string
  leaseTransitions?: number
}

/** A Lease as it was seen, and since when it has looked like that by our own clock. */
export interface Observed {
  record: LeaseRecord
  resourceVersion: string
  /** Milliseconds of the clock at which this state was first seen. */
  at: number
}

/**
 * True when nobody holds a Lease any more: it was released, or did not change for as long as its holder asked for. Its
 * times are the holder's and are not read, because clocks differ.
 */
export function isFree({ record, at }: Observed, now: number, ownDurationSeconds: number): boolean {
  if (!record.holderIdentity) return true
  const seconds = record.leaseDurationSeconds ?? ownDurationSeconds
  return now - at > seconds * 1_000
}

/** The record with which a process takes or keeps a Lease. */
export function heldRecord(options: {
  holder: string
  durationSeconds: number
  now: Date
  before: LeaseRecord | undefined
}): LeaseRecord {
  const { holder, durationSeconds, now, before } = options
  const keeps = before?.holderIdentity === holder
  const transitions = before?.leaseTransitions ?? 0
  return {
    holderIdentity: holder,
    leaseDurationSeconds: durationSeconds,
    acquireTime: keeps && before.acquireTime !== undefined ? before.acquireTime : microTime(now),
    renewTime: microTime(now),
    leaseTransitions: keeps || !before ? transitions : transitions + 1,
  }
}

/** The record with which a process gives a Lease back, so that nobody waits for it to run out. */
export function releasedRecord(before: LeaseRecord, now: Date): LeaseRecord {
  return { ...before, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(now) }
}

/** `metav1.MicroTime`: exactly six digits, or the API server refuses it. */
export function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z')
}
