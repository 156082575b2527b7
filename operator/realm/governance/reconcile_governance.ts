import { isDeepStrictEqual } from 'node:util'
import { appendAudit } from '../../../store/audit.ts'
import {
  findRememberedGovernance,
  isUnprovenConfirmation,
  saveRememberedGovernance,
} from '../../../store/operator/realm_governance.ts'
import { falseCondition, trueCondition } from '../../controller/condition.ts'
import type { ConditionState } from '../../controller/condition.ts'
import type { ReconcilerDeps } from '../../deps.ts'
import type { ApprovalEnforcement } from '../../enforcement/approval_enforcement.ts'
import type { Governance } from '../../role_assignment/decision.ts'
import { realmName } from '../../view/resource_types.ts'
import type { RealmResource } from '../../view/resource_types.ts'
import { NotYet } from '../../view/view.ts'
import { CONFIRM_GOVERNANCE, confirmationOf, governanceToRemember, needsProof } from './remember.ts'
import type { PresentGovernance, Proof } from './remember.ts'
import { describeStrength, governanceOf, isWeaker, parseStrength, strengthInEffect, strengthOf } from './strength.ts'

export interface GovernanceResult {
  governance: Governance
  /** Whether the deletion of the Realm deletes its keys. */
  deletesKeys: boolean
  condition: ConditionState
  /** Whether RoleAssignments have to be decided on again. */
  changed: boolean
}

/** Remembers the governance of a Realm that holds its realm name, and determines the governance in effect. */
export async function reconcileGovernance(
  realm: RealmResource,
  { store, approvalEnforcement }: Pick<ReconcilerDeps, 'store' | 'approvalEnforcement'>,
): Promise<GovernanceResult> {
  const { db } = store
  const { namespace, name, uid, generation, annotations = {} } = realm.metadata
  const confirmation = annotations[CONFIRM_GOVERNANCE]
  const remembered = await findRememberedGovernance(db, realmName(realm))
  const first: PresentGovernance = {
    realm: realmName(realm),
    namespace,
    name,
    uid,
    generation,
    strength: strengthOf(realm),
    confirmation,
    isUnproven: await isUnproven(),
  }
  const proof = await proofOf(approvalEnforcement())
  // Read again: a gap that ended since the first read has marked the confirmation.
  const present = { ...first, isUnproven: await isUnproven() }
  const next = governanceToRemember(remembered, present, proof)
  const changed = !isDeepStrictEqual(next, remembered)
  if (changed) await save()

  const inEffect = strengthInEffect(present.strength, parseStrength(next.governance), approvalEnforcement())
  return {
    governance: governanceOf(realm, inEffect),
    deletesKeys: !inEffect.keepsKeys,
    condition: governanceCondition(),
    changed: changed && !isDeepStrictEqual(next.governance, remembered?.governance),
  }

  async function isUnproven(): Promise<boolean> {
    return confirmation !== undefined && isUnprovenConfirmation(db, confirmation)
  }

  async function proofOf(enforcement: ApprovalEnforcement): Promise<Proof> {
    const { mode, enforcedSince } = enforcement
    if (mode === 'development') return 'development'
    if (!enforcedSince || !needsProof(remembered, first, enforcedSince)) return undefined
    return enforcement.proveRealm(realm)
  }

  async function save(): Promise<void> {
    const from = remembered && parseStrength(remembered.governance)
    const to = parseStrength(next.governance)
    await store.transaction(async (tx) => {
      await saveRememberedGovernance(tx, next)
      if (!from || !isWeaker(to, from)) return
      const details = { uid, generation, namespace, name, from: describeStrength(from), to: describeStrength(to) }
      await appendAudit(tx, store.auditWriter, [
        { at: store.now(), action: 'governance_lowered', realm: present.realm, details },
      ])
    })
  }

  function governanceCondition(): ConditionState {
    const former = parseStrength(next.governance)
    if (!isWeaker(present.strength, former)) {
      return trueCondition('GovernanceConfirmed', 'InEffect', 'spec.identityGovernance is in effect')
    }
    const value = confirmationOf(next, present)
    const again =
      present.isUnproven && confirmation === value
        ? 'its confirmation was written while the admission policies were not in force, so edit spec first; '
        : ''
    return falseCondition(
      'GovernanceConfirmed',
      'GovernanceWeakened',
      `the realm name "${present.realm}" had ${describeStrength(former)}, and this stays in effect; ${again}` +
        `to lower it, a holder of the verb approve on Realm ${next.namespace}/${next.name} runs: kubectl annotate ` +
        `realms.realmkeeper.io ${name} --namespace ${namespace} --overwrite ${CONFIRM_GOVERNANCE}=${value}`,
    )
  }
}

/**
 * Whether the keys of a deleted Realm are deleted. They stay when its deletion, or its deletionPolicy, may have been
 * written while the admission policies were not in force.
 */
export async function deletesKeys(
  realm: RealmResource,
  deps: Pick<ReconcilerDeps, 'store' | 'approvalEnforcement'>,
): Promise<boolean> {
  if (realm.spec.deletionPolicy !== 'Delete') return false
  const { mode, required } = deps.approvalEnforcement()
  if (mode === 'unchecked') throw new NotYet('the operator has not checked yet whether deletions are restricted')
  if (!(await reconcileGovernance(realm, deps)).deletesKeys) return false
  if (mode !== 'enforced') return !required
  const { enforcedSince } = deps.approvalEnforcement()
  const deletedBefore = Date.parse(realm.metadata.deletionTimestamp ?? '') + TIMESTAMP_MILLIS
  return enforcedSince !== undefined && deletedBefore > enforcedSince.getTime()
}

/** A deletionTimestamp has full seconds. */
const TIMESTAMP_MILLIS = 1_000
