import { describe, expect, test } from 'vitest'
import { confirmationOf, governanceToRemember, needsProof } from '../../../../operator/realm/governance/remember.ts'
import type { PresentGovernance, Proof } from '../../../../operator/realm/governance/remember.ts'
import {
  isWeaker,
  parseStrength,
  strengthInEffect,
  strengthOf,
} from '../../../../operator/realm/governance/strength.ts'
import type { Strength } from '../../../../operator/realm/governance/strength.ts'
import type { RememberedGovernance } from '../../../../store/operator/realm_governance.ts'

const STRONG: Strength = { enabled: true, requiredApprovals: 2, extraApprovalForClaims: true, keepsKeys: true }
const SINCE = new Date('2026-01-01T00:00:00Z')
const LATER = new Date('2026-01-02T00:00:00Z')

const REMEMBERED: RememberedGovernance = {
  realm: 'acme',
  namespace: 'home',
  name: 'acme',
  resourceUid: 'uid-1',
  generation: 5,
  governance: { ...STRONG },
  enforcedSince: SINCE,
}

function present(overrides: Partial<PresentGovernance> = {}): PresentGovernance {
  return {
    realm: 'acme',
    namespace: 'home',
    name: 'acme',
    uid: 'uid-1',
    generation: 6,
    strength: STRONG,
    confirmation: undefined,
    isUnproven: false,
    ...overrides,
  }
}

const weaker = (strength: Partial<Strength>): Strength => ({ ...STRONG, ...strength })
const WEAK = weaker({ enabled: false })
const confirmed = (overrides: Partial<PresentGovernance>): PresentGovernance => {
  const realm = present({ strength: WEAK, ...overrides })
  return { ...realm, confirmation: realm.confirmation ?? confirmationOf(REMEMBERED, realm) }
}

/** Whether the remembered governance became the weaker one of `realm`. */
function isLowered(realm: PresentGovernance, proof: Proof, remembered = REMEMBERED): boolean {
  return !isWeaker(realm.strength, parseStrength(governanceToRemember(remembered, realm, proof).governance))
}

describe('what only a holder of approve can write lowers it', () => {
  test.each<[string, PresentGovernance]>([
    ['governance is disabled by an edit', present({ strength: WEAK })],
    ['requiredApprovals is lowered by an edit', present({ strength: weaker({ requiredApprovals: 1 }) })],
    ['claims need no more approvals after an edit', present({ strength: weaker({ extraApprovalForClaims: false }) })],
    ['the keys may be deleted after an edit', present({ strength: weaker({ keepsKeys: false }) })],
    ['a Realm that was created again is confirmed', confirmed({ uid: 'uid-2', generation: 1 })],
    ['a Realm that took the name is confirmed', confirmed({ uid: 'uid-2', namespace: 'away', name: 'other' })],
  ])('%s', (_what, realm) => expect(isLowered(realm, SINCE)).toBe(true))

  test('in development any edit', () =>
    expect(isLowered(present({ strength: WEAK, uid: 'uid-2' }), 'development')).toBe(true))
})

describe('nothing else lowers it', () => {
  const since = (enforcedSince: Date | null) => ({ ...REMEMBERED, enforcedSince })
  test.each<[string, PresentGovernance, Proof, RememberedGovernance]>([
    ['an edit without a proof', present({ strength: WEAK }), undefined, REMEMBERED],
    ['an edit after a gap', present({ strength: WEAK }), LATER, REMEMBERED],
    ['an edit of a Realm that was never proven', present({ strength: WEAK }), SINCE, since(null)],
    ['a Realm that was created again', present({ strength: WEAK, uid: 'uid-2', generation: 9 }), SINCE, REMEMBERED],
    ['the same generation under another CRD', present({ strength: WEAK, generation: 5 }), SINCE, REMEMBERED],
    ['a former generation of a backup', present({ strength: WEAK, generation: 3 }), SINCE, REMEMBERED],
    ['a confirmation without a proof', confirmed({ uid: 'uid-2' }), undefined, REMEMBERED],
    [
      'a confirmation that was there at the end of a gap',
      confirmed({ uid: 'uid-2', isUnproven: true }),
      SINCE,
      REMEMBERED,
    ],
    [
      'the confirmation of the former Realm',
      confirmed({ uid: 'uid-2', confirmation: 'uid-1/6/home/acme' }),
      SINCE,
      REMEMBERED,
    ],
    [
      'the confirmation of a former generation',
      confirmed({ uid: 'uid-2', confirmation: 'uid-2/5/home/acme' }),
      SINCE,
      REMEMBERED,
    ],
    [
      'a Realm that took the name, confirmed by its own approvers only',
      confirmed({ uid: 'uid-2', namespace: 'away', confirmation: 'uid-2/6/away/acme' }),
      SINCE,
      REMEMBERED,
    ],
  ])('%s', (_what, realm, proof, remembered) => {
    expect(isLowered(realm, proof, remembered)).toBe(false)
    // Also at the next look, with what is remembered now.
    expect(isLowered(realm, proof, governanceToRemember(remembered, realm, proof))).toBe(false)
  })

  test('an edit of a former generation that returned from a backup', () => {
    const restored = present({ strength: WEAK, generation: 3 })
    const after = governanceToRemember(REMEMBERED, restored, SINCE)
    expect(isLowered({ ...restored, generation: 9 }, SINCE, after)).toBe(false)
  })

  test('a Realm that took the name with as much governance, and was lowered by its own approvers', () => {
    const taken = present({ uid: 'uid-2', namespace: 'away', generation: 1 })
    const after = governanceToRemember(REMEMBERED, taken, SINCE)
    expect(isLowered({ ...taken, strength: WEAK, generation: 2 }, SINCE, after)).toBe(false)
  })

  test('a Realm that was stronger in one respect and became weaker in another', () => {
    const other = present({ strength: { ...STRONG, enabled: false, requiredApprovals: 3 }, uid: 'uid-2' })
    expect(governanceToRemember(REMEMBERED, other, SINCE)).toMatchObject({
      resourceUid: 'uid-1',
      governance: { ...STRONG, requiredApprovals: 3 },
    })
  })
})

test('a Realm that was created again as strong as before is edited as before', () => {
  const again = present({ uid: 'uid-2', generation: 1 })
  const after = governanceToRemember(REMEMBERED, again, LATER)
  expect(after).toMatchObject({ resourceUid: 'uid-2', enforcedSince: LATER })
  expect(isLowered({ ...again, strength: WEAK, generation: 2 }, LATER, after)).toBe(true)
})

test.each<[string, RememberedGovernance | undefined, PresentGovernance, boolean]>([
  ['a new realm name', undefined, present(), true],
  ['nothing new', REMEMBERED, present(), false],
  ['a raised number', REMEMBERED, present({ strength: weaker({ requiredApprovals: 3 }) }), false],
  ['a Realm after a gap', { ...REMEMBERED, enforcedSince: LATER }, present(), true],
  ['an edit that lowers', REMEMBERED, present({ strength: WEAK }), true],
  ['a Realm created again with less', REMEMBERED, present({ strength: WEAK, uid: 'uid-2' }), false],
  ['a confirmation', REMEMBERED, confirmed({ uid: 'uid-2' }), true],
])('whether a proof is needed: %s', (_what, remembered, realm, expected) =>
  expect(needsProof(remembered, realm, SINCE)).toBe(expected),
)

test.each([
  ['enforced', true, STRONG],
  ['unchecked', true, STRONG],
  ['gap', true, STRONG],
  ['enforced', false, STRONG],
  ['gap', false, WEAK],
  ['development', false, WEAK],
] as const)('in mode %s, required %s, what was remembered decides accordingly', (mode, required, expected) =>
  expect(strengthInEffect(WEAK, STRONG, { mode, required })).toEqual(expected),
)

test('a Realm that a replaced CRD serves without governance is the weakest', () => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema that guarantees the members was replaced
  const realm = { spec: {} } as Parameters<typeof strengthOf>[0]
  expect(strengthOf(realm)).toEqual({
    enabled: false,
    requiredApprovals: 1,
    extraApprovalForClaims: false,
    keepsKeys: true,
  })
})
