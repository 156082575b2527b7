import type { Answer } from '../../support/control_plane/account.ts'
import type { World } from '../world.ts'

/** A write that has to be refused. */
export interface Attack {
  name: string
  /** Part of what the refusal says. Where a rule of the policies says it, that rule is needed to refuse this. */
  said: string
  run: (world: World) => Promise<Answer>
}

/** What the rules say, as far as it is the same each time. */
export const SAID = {
  needsApprove: 'needs the verb approve on roleassignments.realmkeeper.io/',
  mayDoMore: 'may also submit for others or write results, so it does not decide',
  deleted: 'it is being deleted',
  requester: 'the requester cannot decide',
  otherAuthor: 'an entry names its own author as approver',
  decidedBy: 'a condition Approved or Denied has decidedBy: ',
  seen: 'a decision names what was seen: observedGeneration: ',
  entryStays: 'an entry stays while it covers the present generation',
  conditionStays: 'Approved and Denied stay while they cover the present generation',
  plainTrue: 'Approved and Denied have status True and a reason',
  oneOf: 'one of Approved and Denied',
  oneEntry: 'one entry for each approver',
  results: "conditions other than Approved and Denied are the operator's",
  status: "status other than approvals, Approved and Denied is the operator's",
  requestedBy: 'spec.requestedBy has to be ',
  weaker: 'to lower requiredApprovals or disable identityGovernance needs the verb approve',
  subject: 'needs the verb set-subject on users.realmkeeper.io',
}
