import type { PolicyIdentities } from '../../store/approval_enforcement.ts'
import type { Finding } from './judge.ts'
import { MayNotLook, NoAnswer } from './policy_access.ts'
import type { PolicyAccess, TrialOutcome } from './policy_access.ts'
import { DECISIONS_POLICY, differenceOf, policyNames, textOf } from './shipped_policies.ts'

/** A finding, and whether a decision of the operator's own was refused with these very policies. */
export interface Look {
  finding: Finding
  /** `none`: there is no RoleAssignment to try on. Undefined: nothing was tried. */
  trial?: TrialOutcome['result']
}

/** Reads everything that approval hangs on, now. Never rejects because of what the API server says. */
export async function lookAtPolicies(
  access: PolicyAccess,
  needsTrial: (identities: PolicyIdentities) => boolean,
): Promise<Look> {
  try {
    const objects = await Promise.all(policyNames().map(async (name) => ({ name, object: await access.read(name) })))
    const differences = objects.flatMap(({ name, object }) => differenceOf(name, object) ?? [])
    if (differences.length > 0) {
      return { finding: { outcome: 'bad', reason: 'PoliciesDiffer', message: differences.join('; ') } }
    }
    const identities = Object.fromEntries(
      objects.flatMap(({ name, object }) =>
        object ? [[textOf(name), { uid: object.metadata.uid, generation: object.metadata.generation }]] : [],
      ),
    )
    const good: Finding = { outcome: 'good', identities }
    if (!needsTrial(identities)) return { finding: good }
    return judgeTrial(await access.tryToApprove(), good)
  } catch (error) {
    if (error instanceof MayNotLook) {
      return { finding: { outcome: 'bad', reason: 'AccessDenied', message: error.message } }
    }
    if (error instanceof NoAnswer) return { finding: { outcome: 'no_answer', message: error.message } }
    throw error
  }
}

function judgeTrial(trial: TrialOutcome, good: Finding): Look {
  const { result } = trial
  if (result === 'none' || (result === 'refused' && trial.policy === DECISIONS_POLICY)) {
    return { finding: good, trial: result }
  }
  const why = result === 'refused' ? `it was refused by the policy ${trial.policy} instead` : trial.why
  const message = `a decision by the operator itself (dry run) is not refused by ${DECISIONS_POLICY}: ${why}`
  return { finding: { outcome: 'bad', reason: 'DecisionsNotRefused', message }, trial: 'failed' }
}
