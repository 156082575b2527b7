import type { WayToLessGovernance } from '../../../operator/realm/governance/ways.ts'
import type { Answer } from '../../support/control_plane/account.ts'
import type { World } from '../world.ts'

/** A write that the API server has to refuse. */
export interface Attack {
  name: string
  /** Part of the message of the refusal. When it is the message of a policy rule, this attack needs that rule. */
  refusal: string
  /** For attacks on the governance of a realm. */
  way?: WayToLessGovernance
  run: (world: World) => Promise<Answer>
}

/** The constant parts of the messages of the policies. */
export const REFUSALS = {
  needsApprove: 'needs the verb approve on roleassignments.realmkeeper.io/',
  mayDoMore: 'may submit for others or write results and therefore cannot decide',
  deleted: 'the RoleAssignment is being deleted',
  requester: 'the requester cannot decide',
  otherAuthor: 'approver must be the user name of the caller',
  decidedBy: 'decidedBy of Approved or Denied must be ',
  seen: 'a decision must name the version that it covers: observedGeneration: ',
  entryStays: 'an entry that covers the present generation cannot be removed or changed',
  conditionStays: 'Approved and Denied cannot be removed while they cover the present generation',
  plainTrue: 'Approved and Denied must have status True and a reason',
  oneOf: 'only one of Approved and Denied may cover',
  oneEntry: 'each approver may have only one entry',
  results: 'only the operator may write conditions other than Approved and Denied',
  status: 'only the operator may write status other than approvals, Approved and Denied',
  writer: 'an account that wrote the request (spec.submittedBy, spec.formerRequesters) cannot decide',
  requestedBy: 'spec.requestedBy must be ',
  submittedBy: 'spec.submittedBy must be absent or ',
  firstHand: 'spec.submittedBy must be absent: ',
  dropsWriters: 'add to spec.formerRequesters the accounts that wrote this request and cannot decide: ',
  inventsWriters: 'spec.formerRequesters may name only accounts that wrote this request, not: ',
  weaker: 'less identityGovernance (enabled, requiredApprovals, extraApprovalForClaims) requires the verb approve',
  deletion: 'deleting a Realm with identityGovernance requires the verb approve',
  keys: 'changing deletionPolicy to Delete requires the verb approve',
  owner: 'adding an owner reference requires the verb approve',
  confirmsWhat: 'the annotation realmkeeper.io/confirm-governance must name the version that it confirms: ',
  mayNotConfirm: ' and on the Realm that the annotation realmkeeper.io/confirm-governance names',
  subject: 'needs the verb set-subject on users.realmkeeper.io',
}
