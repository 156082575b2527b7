import { isDeepStrictEqual } from 'node:util'
import type { Enforcement, Governance } from '../../role_assignment/decision.ts'
import type { RealmResource } from '../../view/resource_types.ts'

/** What only a holder of the verb approve may lower. True is stronger than false, and a greater number than a smaller. */
export interface Strength {
  enabled: boolean
  requiredApprovals: number
  extraApprovalForClaims: boolean
  /** Whether the keys stay when the Realm is deleted. */
  keepsKeys: boolean
}

/** A CRD that was replaced may serve a Realm without governance. */
export function strengthOf({ spec }: Pick<RealmResource, 'spec'>): Strength {
  const { identityGovernance, deletionPolicy }: Partial<RealmResource['spec']> = spec
  const { enabled, requiredApprovals, extraApprovalForClaims } = { ...WEAKEST, ...identityGovernance }
  return { enabled, requiredApprovals, extraApprovalForClaims, keepsKeys: deletionPolicy !== 'Delete' }
}

const WEAKEST: Strength = { enabled: false, requiredApprovals: 1, extraApprovalForClaims: false, keepsKeys: false }

/** The stored strength. A member that an older version did not store is at its weakest. */
export function parseStrength(stored: Record<string, boolean | number>): Strength {
  return { ...WEAKEST, ...stored }
}

/** Each member at its strongest. */
export function strongest(one: Strength, other: Strength): Strength {
  return {
    enabled: one.enabled || other.enabled,
    requiredApprovals: Math.max(one.requiredApprovals, other.requiredApprovals),
    extraApprovalForClaims: one.extraApprovalForClaims || other.extraApprovalForClaims,
    keepsKeys: one.keepsKeys || other.keepsKeys,
  }
}

/** Whether any member of `present` is weaker than in `remembered`. */
export function isWeaker(present: Strength, remembered: Strength): boolean {
  return !isDeepStrictEqual(strongest(present, remembered), present)
}

/**
 * The strength that decides: never less than what the realm name had before, except where the operator may decide
 * without admission.
 */
export function strengthInEffect(
  present: Strength,
  remembered: Strength | undefined,
  { mode, required }: Pick<Enforcement, 'mode' | 'required'>,
): Strength {
  const withoutAdmission = mode === 'development' || (mode === 'gap' && !required)
  return !remembered || withoutAdmission ? present : strongest(present, remembered)
}

/** The governance of a Realm with the strength in effect. */
export function governanceOf({ spec }: Pick<RealmResource, 'spec'>, inEffect: Strength): Governance {
  const { keepsKeys: _, ...governance } = inEffect
  return { ...spec.identityGovernance, ...governance }
}

/** For people. */
export function describeStrength({ enabled, requiredApprovals, extraApprovalForClaims, keepsKeys }: Strength): string {
  const parts = [
    `identityGovernance.enabled: ${enabled}`,
    `requiredApprovals: ${requiredApprovals}`,
    extraApprovalForClaims && 'extraApprovalForClaims: true',
    keepsKeys && 'deletionPolicy: Retain',
  ]
  return parts.filter(Boolean).join(', ')
}
