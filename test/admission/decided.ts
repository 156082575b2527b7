import { decide } from '../../operator/role_assignment/decide.ts'
import type { DecisionResult } from '../../operator/role_assignment/decision.ts'
import type { Granted } from '../../operator/role_assignment/granted.ts'
import { parseGranted } from '../../operator/role_assignment/granted.ts'
import { statusDecisions } from '../../operator/role_assignment/status_decisions.ts'
import { world } from '../operator/role_assignment/world.ts'
import type { World } from '../operator/role_assignment/world.ts'
import type { Stored } from './world.ts'

/** The input of `decide` apart from the object: a governed realm and the User alice. */
export interface Surroundings extends Pick<World, 'recorded' | 'realm' | 'enforcement'> {
  /** The stored state of each uid. */
  rows: ReadonlyMap<string, Granted>
}

export function surroundings(requiredApprovals: number): Surroundings {
  const { realm, enforcement } = world()
  const governance = { enabled: true, requiredApprovals }
  return { rows: new Map(), recorded: [], realm: { ...realm, governance }, enforcement }
}

/** The operator's decision on an object of the API server. `around` keeps the stored state. */
export function decidedOn(object: Stored, around: Surroundings): DecisionResult {
  const { metadata, spec, status = {} } = object
  const { uid, generation, namespace, name, deletionTimestamp } = metadata
  const { subject, roles, requestedBy, submittedBy, formerRequesters, expiresAt, durationSeconds } = spec
  const decided = decide({
    assignment: {
      uid,
      generation,
      namespace,
      name,
      subject,
      roles,
      requestedBy,
      submittedBy,
      formerRequesters,
      expiresAt,
      durationSeconds,
      deleting: deletionTimestamp !== undefined,
    },
    decisions: statusDecisions(status),
    spec: 'proven',
    recorded: around.recorded,
    stored: { row: around.rows.get(uid), status: parseGranted(status.granted), statusTrusted: false },
    realm: around.realm,
    user: { uid: 'user-1', sub: 'sub-of-alice', realmUid: around.realm.uid },
    enforcement: around.enforcement,
    now: new Date('2026-01-01T00:00:00Z'),
  })
  around.rows = new Map([...around.rows, [uid, decided.granted]])
  around.recorded = [...around.recorded, ...decided.newDecisions]
  return decided
}

/** `reason: role, role` */
export function summaryOf({ ready, roles }: DecisionResult): string {
  return `${ready.reason}: ${roles.map(({ role }) => role).join(' ')}`.trimEnd()
}
