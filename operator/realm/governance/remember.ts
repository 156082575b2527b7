import type { RememberedGovernance } from '../../../store/operator/realm_governance.ts'
import { isWeaker, parseStrength, strongest } from './strength.ts'
import type { Strength } from './strength.ts'

/** The annotation by which a holder of the verb approve lets a Realm have less governance than its name had before. */
export const CONFIRM_GOVERNANCE = 'realmkeeper.io/confirm-governance'

/** The Realm that holds a realm name. */
export interface PresentGovernance {
  realm: string
  namespace: string
  name: string
  uid: string
  generation: number
  strength: Strength
  /** The value of the annotation. */
  confirmation: string | undefined
  /** Whether the annotation was there when a gap in the enforcement ended. */
  isUnproven: boolean
}

/** `development`: there is no admission. A time: since then it has checked every edit. Undefined: that is unknown. */
export type Proof = 'development' | Date | undefined

/**
 * The governance to remember of a realm name. It becomes weaker only by what admission permits to holders of the verb
 * approve alone: an edit of the same Realm since it was proven, or a confirmation of its present uid and generation.
 * `ways.ts` lists what cannot weaken it.
 */
export function governanceToRemember(
  remembered: RememberedGovernance | undefined,
  present: PresentGovernance,
  proof: Proof,
): RememberedGovernance {
  const { realm, namespace, name, uid, generation, strength } = present
  const own = { realm, namespace, name, resourceUid: uid, generation }
  const since = proof instanceof Date ? proof : null
  if (!remembered || proof === 'development') return { ...own, governance: { ...strength }, enforcedSince: since }

  const former = parseStrength(remembered.governance)
  const governance = { ...strongest(strength, former) }
  const isSameUid = remembered.resourceUid === uid
  if (isWeaker(strength, former)) {
    const isLowered = since !== null && (isEdited(remembered, present, since) || isConfirmed(remembered, present))
    if (isLowered) return { ...own, governance: { ...strength }, enforcedSince: since }
    // A weaker former generation returned from a backup of the cluster: a later one may be an edit of it.
    const isRestored = isSameUid && generation <= remembered.generation
    return { ...remembered, governance, ...(isRestored && { enforcedSince: null }) }
  }

  // Approvers of another Realm that took the name did not decide on the former one.
  if (!isOfSamePath(remembered, present)) return { ...remembered, governance, enforcedSince: null }
  const isContinued = isSameUid && generation >= remembered.generation
  return { ...own, governance, enforcedSince: since ?? (isContinued ? remembered.enforcedSince : null) }
}

/** Whether a proof could change what is remembered. Proofs cost calls of the API server. */
export function needsProof(
  remembered: RememberedGovernance | undefined,
  present: PresentGovernance,
  enforcedSince: Date,
): boolean {
  const withProof = governanceToRemember(remembered, present, enforcedSince)
  const without = governanceToRemember(remembered, present, undefined)
  return JSON.stringify(withProof) !== JSON.stringify(without)
}

/** The value of the annotation that confirms the present version. */
export function confirmationOf(
  { namespace, name }: Pick<RememberedGovernance, 'namespace' | 'name'>,
  { uid, generation }: Pick<PresentGovernance, 'uid' | 'generation'>,
): string {
  return [uid, generation, namespace, name].join('/')
}

function isConfirmed(remembered: RememberedGovernance, present: PresentGovernance): boolean {
  return !present.isUnproven && present.confirmation === confirmationOf(remembered, present)
}

/** Whether admission checked every edit since the Realm had the remembered governance. */
function isEdited(remembered: RememberedGovernance, { uid, generation }: PresentGovernance, since: Date): boolean {
  const { resourceUid, enforcedSince } = remembered
  return resourceUid === uid && generation > remembered.generation && enforcedSince?.getTime() === since.getTime()
}

function isOfSamePath(one: RememberedGovernance, other: PresentGovernance): boolean {
  return one.namespace === other.namespace && one.name === other.name
}
