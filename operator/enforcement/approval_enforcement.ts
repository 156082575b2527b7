import type { ConditionState } from '../controller/condition.ts'
import type { Enforcement } from '../role_assignment/decision.ts'
import type { RealmResource, RoleAssignmentResource } from '../view/resource_types.ts'
import type { EnforcementState } from './gap.ts'

/** Whether admission policies restrict who may decide. */
export interface ApprovalEnforcement extends Enforcement {
  /** For the condition `ApprovalEnforced`. */
  reason: string
  message: string
  /** Whether only the operator can have written `status.granted`, so that it may replace a lost row. */
  statusTrusted: boolean
  /**
   * Checks the policies and the object again, by reads that begin after this call: before a decision in `resource` is
   * recorded or a role is granted. Resolves with mode `enforced`, `gap` or `development`. Throws NotYet when the API
   * server does not answer, and when the object is no longer what was read.
   */
  prove(resource: RoleAssignmentResource): Promise<ApprovalEnforcement>

  /** In mode `enforced`: the end of the last gap. Since then admission checked every write. */
  enforcedSince?: Date | undefined
  /**
   * As `prove`, for what a Realm says of its governance: resolves with `enforcedSince` when admission refuses to let the
   * operator confirm the governance of this Realm, and undefined when it does not.
   */
  proveRealm(realm: RealmResource): Promise<Date | undefined>
}

/** For resources from files: only the operator checks who decides. */
export const DEVELOPMENT: ApprovalEnforcement = {
  mode: 'development',
  required: false,
  reason: 'Development',
  message: 'resources come from files: names are claims, and only the operator applies the rules on who may decide',
  statusTrusted: true,
  prove: async () => DEVELOPMENT,
  proveRealm: async () => undefined,
}

/** The condition `ApprovalEnforced` of a Realm. */
export function enforcementCondition({
  mode,
  reason,
  message,
}: Pick<ApprovalEnforcement, 'mode' | 'reason' | 'message'>): ConditionState {
  return { type: 'ApprovalEnforced', status: mode === 'enforced' ? 'True' : 'False', reason, message }
}

/** A state as reason and message of the condition `ApprovalEnforced`. */
export function describeState(state: EnforcementState): Pick<ApprovalEnforcement, 'mode' | 'reason' | 'message'> {
  if (state.mode === 'gap') return { mode: 'gap', reason: state.reason, message: state.message }
  if (state.mode === 'unchecked') return { mode: 'unchecked', reason: 'Unchecked', message: state.message }
  return {
    mode: 'enforced',
    reason: 'Enforced',
    message: 'the admission policies are as shipped and refuse decisions of accounts that may not decide',
  }
}
