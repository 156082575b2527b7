import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AdmissionPolicy, AdmissionPolicyBinding } from '../../crds/admission_policy.ts'
import { POLICIES, POLICY_BINDINGS } from '../../crds/policies.gen.ts'
import { hasControlPlane } from '../support/control_plane.ts'
import { ATTACKS } from './attacks.ts'
import { LEGITIMATE } from './legitimate.ts'
import { installPolicies } from './policies.ts'
import { POLICY_NAMES, untilActing } from './probe.ts'
import { makeWorld, startCluster, verdict } from './world.ts'
import type { Cluster, World } from './world.ts'

/** The policies less one rule, which stand in namespaces of their own. */
interface Weakened {
  name: string
  policies: AdmissionPolicy[]
  /** What of them still has to refuse something, to show that they act. */
  acting: string[]
  /** Attacks that are let in, by name. */
  attacks: string[]
  /** One that is refused all the same, where the probes of a policy say nothing. */
  refuses?: string
}

const WEAKENED: Weakened[] = [
  ...POLICIES.flatMap(({ metadata, spec }) =>
    spec.validations.map(({ message, messageExpression }, index) => {
      const said = message ?? messageExpression!
      return {
        name: `${metadata.name}: ${said}`,
        ...changed(metadata.name, (policy) => policy.spec.validations.splice(index, 1)),
        attacks: ATTACKS.filter((attack) => said.includes(attack.said)).map(({ name }) => name),
      }
    }),
  ),
  {
    name: 'decisions are looked at in status only',
    ...changed('realmkeeper-roleassignment-decisions', (policy) => {
      policy.spec.matchConstraints.resourceRules[0]!.resources = ['roleassignments/status']
    }),
    attacks: ['an author approves through a version without the status subresource'],
  },
  {
    name: 'decisions are looked at in objects only',
    ...changed('realmkeeper-roleassignment-decisions', (policy) => {
      policy.spec.matchConstraints.resourceRules[0]!.resources = ['roleassignments']
    }),
    acting: POLICY_NAMES.filter((name) => name !== 'realmkeeper-roleassignment-decisions'),
    refuses: 'an author approves through a version without the status subresource',
    attacks: ['an author approves with a merge patch'],
  },
  {
    name: 'decisions are looked at in updates only',
    ...changed('realmkeeper-roleassignment-decisions', (policy) => {
      policy.spec.matchConstraints.resourceRules[0]!.operations = ['UPDATE']
    }),
    attacks: ['an author creates an approved request through that version'],
  },
  {
    name: 'requests are looked at in updates only',
    ...changed('realmkeeper-roleassignment-requests', (policy) => {
      policy.spec.matchConstraints.resourceRules[0]!.operations = ['UPDATE']
    }),
    attacks: ['an author asks under another’s name'],
  },
]

describe.skipIf(!hasControlPlane())('each rule is needed', () => {
  let cluster: Cluster
  const worlds = new Map<Weakened, World>()
  beforeAll(async () => {
    cluster = await startCluster()
    for (const [index, weakened] of WEAKENED.entries()) {
      await installPolicies(cluster.admin, limited(weakened, index))
      worlds.set(weakened, await makeWorld(cluster, `weak-${index}`, { 'less-one-rule': `${index}` }))
    }
  })
  afterAll(() => cluster?.stop())

  test.for(WEAKENED)('an attack gets in without $name', async (weakened) => {
    const world = worlds.get(weakened)!
    await untilActing(world, weakened.acting)
    const refused = ATTACKS.find(({ name }) => name === weakened.refuses)
    await expect.poll(async () => (refused ? verdict(await refused.run(world)) : '403')).toMatch(/^4/)
    const attacks = ATTACKS.filter(({ name }) => weakened.attacks.includes(name))
    const verdicts = []
    for (const { run } of attacks) verdicts.push(verdict(await run(world)))
    expect(verdicts).toContain('passes')
  })

  test('what is legitimate passes without policies at all', async () => {
    const world = await makeWorld(cluster, 'free')
    for (const { name, run } of LEGITIMATE) expect(`${name}: ${verdict(await run(world))}`).toBe(`${name}: passes`)
  })
})

/** The policies with one of them changed; one that is left without a rule goes, as no policy can be without any. */
function changed(name: string, change: (policy: AdmissionPolicy) => void): Pick<Weakened, 'policies' | 'acting'> {
  const policies = structuredClone([...POLICIES])
  change(policies.find(({ metadata }) => metadata.name === name)!)
  const left = policies.filter(({ spec }) => spec.validations.length > 0)
  const names = left.map(({ metadata }) => metadata.name)
  return { policies: left, acting: POLICY_NAMES.filter((each) => names.includes(each)) }
}

/** Under names of their own, bound to the namespaces that carry their label. */
function limited({ policies }: Weakened, index: number): (AdmissionPolicy | AdmissionPolicyBinding)[] {
  return policies.flatMap((policy) => {
    const name = `${policy.metadata.name}-less-${index}`
    const binding = POLICY_BINDINGS.find(({ metadata }) => metadata.name === policy.metadata.name)!
    const selector = { namespaceSelector: { matchLabels: { 'less-one-rule': `${index}` } } }
    return [
      { ...policy, metadata: { ...policy.metadata, name } },
      {
        ...binding,
        metadata: { ...binding.metadata, name },
        spec: { ...binding.spec, policyName: name, matchResources: selector },
      },
    ]
  })
}
