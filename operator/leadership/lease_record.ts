/** `spec` of a Lease (coordination.k8s.io/v1), as far as an election reads it. */
export interface LeaseRecord {
  holderIdentity?: string | null
  leaseDurationSeconds?: number
  acquireTime?: string
  renewTime?: string
  leaseTransitions?: number
}

export interface StoredLease {
  record: LeaseRecord
  uid: string
  resourceVersion: string
}

/** A state of the Lease, and when this process first observed it. */
export interface Observed extends StoredLease {
  /** By this process's clock, in milliseconds. */
  at: number
}

/**
 * True when no process holds the Lease: it was released, or has not changed for the duration that its holder set. The
 * times in the Lease are not read, because clocks differ.
 */
export function isFree({ record, at }: Observed, now: number, ownDurationSeconds: number): boolean {
  if (!record.holderIdentity) return true
  const seconds = record.leaseDurationSeconds ?? ownDurationSeconds
  return now - at > seconds * 1_000
}

/** The record with which a process takes or renews a Lease. */
export function heldRecord(options: {
  holder: string
  durationSeconds: number
  now: Date
  before: LeaseRecord | undefined
}): LeaseRecord & { renewTime: string } {
  const { holder, durationSeconds, now, before } = options
  const isRenewal = before?.holderIdentity === holder
  const transitions = before?.leaseTransitions ?? 0
  return {
    holderIdentity: holder,
    leaseDurationSeconds: durationSeconds,
    acquireTime: isRenewal && before.acquireTime !== undefined ? before.acquireTime : microTime(now),
    renewTime: microTime(now),
    leaseTransitions: isRenewal || !before ? transitions : transitions + 1,
  }
}

/** The record with which a process releases the Lease, so that another one can take it at once. */
export function releasedRecord(before: LeaseRecord, now: Date): LeaseRecord {
  return { ...before, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(now) }
}

/** `metav1.MicroTime`: exactly six digits, or the API server refuses it. */
export function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z')
}
