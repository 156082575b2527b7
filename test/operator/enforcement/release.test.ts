import { expect, test } from 'vitest'
import { isContinuous, shippedDigest } from '../../../operator/enforcement/release/continuity.ts'
import { setOf, shippedSet } from '../../../operator/enforcement/release/shipped_set.ts'
import { isNotWeaker } from '../../../operator/enforcement/release/weaker.ts'
import type { EnforcementRecord } from '../../../store/operator/approval_enforcement.ts'
import { find, formerObjects, FORMER_SET, GOVERNANCE, PRESENT_SET, presentObjects, REQUESTS } from './releases.ts'

const POLICY = `ValidatingAdmissionPolicy/${REQUESTS}`
const BINDING = `ValidatingAdmissionPolicyBinding/${REQUESTS}`
const CRD = 'CustomResourceDefinition/roleassignments.realmkeeper.io'

type Proof = Pick<EnforcementRecord, 'identities' | 'shipped'>

/** What the operator of a release records of its objects, each in its first generation. */
function proofOf(set = FORMER_SET): Proof {
  const names = [...set.present]
  return {
    identities: Object.fromEntries(names.map(([name]) => [name, { uid: `uid of ${name}`, generation: 1 }])),
    shipped: Object.fromEntries(names.map(([name, { digest }]) => [name, digest])),
  }
}

/** After one edit of each object that the present release changes. */
function upgraded(set = PRESENT_SET): Proof {
  const after = proofOf(set)
  for (const [name, identity] of Object.entries(after.identities)) {
    if (FORMER_SET.present.get(name)?.digest !== set.present.get(name)?.digest) identity.generation = 2
  }
  return after
}

function continues(after: Proof, { before = proofOf(), set = PRESENT_SET } = {}): boolean {
  const record = {
    ...before,
    gapSince: null,
    statusesAgree: true,
    scope: null,
    gapRevealed: false,
    enforcedSince: null,
  }
  return isContinuous(record, after, set)
}

test('one edit of each changed object, from the former to the present release, is no gap', () => {
  const after = upgraded()
  expect(Object.values(after.identities).filter(({ generation }) => generation === 2)).toHaveLength(3)
  expect(continues(after)).toBe(true)
})

test('an unchanged installation is no gap', () => {
  expect(continues(proofOf())).toBe(true)
})

test('a policy that is new in the present release is no gap', () => {
  const before = proofOf()
  delete before.identities[POLICY]
  delete before.identities[BINDING]
  expect(continues(upgraded(), { before })).toBe(true)
})

test.for<[string, (after: Proof, before: Proof) => void]>([
  ['edited to something else in between', (after) => (after.identities[POLICY]!.generation = 3)],
  ['deleted and created again', (after) => (after.identities[POLICY] = { uid: 'another', generation: 1 })],
  ['deleted and created again, one generation later', (after) => (after.identities[POLICY]!.uid = 'another')],
  ['an older generation, from a restored cluster', (after) => (after.identities[POLICY]!.generation = 0)],
  ['a binding that was edited and edited back', (after) => (after.identities[BINDING]!.generation = 3)],
  ['a binding that was edited', (after) => (after.identities[BINDING]!.generation = 2)],
  ['an object that is gone', (after) => delete after.identities[BINDING]],
  ['a CRD that is not as shipped', (after) => delete after.shipped[CRD]],
  ['a former CRD that was not as shipped', (_, before) => delete before.shipped[CRD]],
  ['a record of a release that recorded no digests', (_, before) => (before.shipped = {})],
  ['a release that this one does not know', (_, before) => (before.shipped[POLICY] = 'unknown')],
])('a gap: %s', ([, change]) => {
  const [after, before] = [upgraded(), proofOf()]
  change(after, before)
  expect(continues(after, { before })).toBe(false)
})

test('a gap: this release has a rule less than the former one, which it knows', () => {
  const weaker = setOf(formerObjects(), presentObjects())
  const [before, after] = [proofOf(PRESENT_SET), proofOf(weaker)]
  after.identities[POLICY]!.generation = 2
  expect(after.shipped[POLICY]).not.toBe(before.shipped[POLICY])
  expect(continues(after, { before, set: weaker })).toBe(false)
})

test('a gap: this release knows no former one', () => {
  expect(continues(upgraded(), { set: setOf(presentObjects(), []) })).toBe(false)
})

// oxlint-disable-next-line typescript/no-explicit-any -- tests change any member
type Change = (spec: any) => unknown

test.for<[string, string, Change]>([
  ['a rule that is gone', REQUESTS, ({ validations }) => validations.shift()],
  ['a changed rule', REQUESTS, ({ validations }) => (validations[0].expression = 'true')],
  ['a changed variable', REQUESTS, ({ variables }) => (variables[0].expression = "'another'")],
  ['a variable that is gone', REQUESTS, ({ variables }) => variables.shift()],
  ['failurePolicy', REQUESTS, (spec) => (spec.failurePolicy = 'Ignore')],
  ['a match condition', REQUESTS, (spec) => (spec.matchConditions = [{ name: 'no', expression: 'false' }])],
  ['fewer requests', REQUESTS, ({ matchConstraints }) => (matchConstraints.resourceRules[0].operations = ['CREATE'])],
  ['fewer namespaces', REQUESTS, ({ matchConstraints }) => (matchConstraints.namespaceSelector = { matchLabels: {} })],
  [
    'a new member of spec, which former policies do not know',
    'roleassignments.realmkeeper.io',
    ({ versions }) => (versions[0].schema.openAPIV3Schema.properties.spec.properties.writtenBy = { type: 'string' }),
  ],
  [
    'a new member of a decision',
    'roleassignments.realmkeeper.io',
    ({ versions }) =>
      (versions[0].schema.openAPIV3Schema.properties.status.properties.approvals.items.properties.weight = {}),
  ],
  [
    'a new member of status',
    'roleassignments.realmkeeper.io',
    ({ versions }) => (versions[0].schema.openAPIV3Schema.properties.status.properties.more = {}),
  ],
  [
    'a version without status subresource',
    'roleassignments.realmkeeper.io',
    ({ versions }) => versions.push({ ...versions[0], name: 'v2', subresources: {} }),
  ],
])('weaker, or perhaps weaker: %s', ([, name, change]) => {
  const [former, present] = [presentObjects(), presentObjects()]
  change(find(present, name).spec)
  const { kind } = find(former, name)
  expect(isNotWeaker(`${kind}/${name}`, find(former, name).spec, find(present, name).spec)).toBe(false)
})

test.for<[string, string, Change]>([
  ['one more rule', REQUESTS, ({ validations }) => validations.push({ expression: 'false', reason: 'Forbidden' })],
  ['another text', GOVERNANCE, ({ validations }) => (validations[0].message = 'another')],
  ['one more variable', REQUESTS, ({ variables }) => variables.push({ name: 'more', expression: 'true' })],
  ['more requests', REQUESTS, ({ matchConstraints: { resourceRules } }) => resourceRules.push({ resources: ['*'] })],
  [
    'the same version under another name',
    'roleassignments.realmkeeper.io',
    ({ versions }) => versions.push({ ...versions[0], name: 'v2' }),
  ],
  [
    'a new member of the operator’s own record',
    'roleassignments.realmkeeper.io',
    ({ versions }) =>
      (versions[0].schema.openAPIV3Schema.properties.status.properties.granted.properties.more = { type: 'string' }),
  ],
])('not weaker: %s', ([, name, change]) => {
  const [former, present] = [presentObjects(), presentObjects()]
  change(find(present, name).spec)
  const { kind } = find(former, name)
  expect(isNotWeaker(`${kind}/${name}`, find(former, name).spec, find(present, name).spec)).toBe(true)
})

test('a binding is never replaced without a gap', () => {
  const bindings = (objects: ReturnType<typeof presentObjects>) => objects.find(({ kind }) => kind.endsWith('Binding'))!
  const [former, present] = [bindings(formerObjects()), bindings(presentObjects())]
  present.spec.validationActions = ['Deny', 'Audit']
  expect(isNotWeaker(BINDING, former.spec, present.spec)).toBe(false)
})

test('the shipped set holds what this release ships; a changed CRD has no digest', () => {
  const set = shippedSet()
  expect([...set.present.keys()]).toEqual([
    ...PRESENT_SET.present.keys(),
    'CustomResourceDefinition/realms.realmkeeper.io',
  ])
  const spec = set.present.get(CRD)?.spec
  expect(shippedDigest(set, CRD, spec)).toBe(set.present.get(CRD)?.digest)
  expect(shippedDigest(set, CRD, { ...(spec as object), preserveUnknownFields: true })).toBeUndefined()
})
