import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { shippedPolicies } from '../../../crds/policies.ts'
import { setOf } from '../../../operator/enforcement/release/shipped_set.ts'
import type { ManifestObject } from '../../../operator/enforcement/release/shipped_set.ts'

/** The policy that gains a rule with the present release. */
export const REQUESTS = 'realmkeeper-roleassignment-requests'
/** The policy that gains a variable and a matched resource. */
export const GOVERNANCE = 'realmkeeper-realm-governance'

// oxlint-disable-next-line typescript/no-explicit-any -- tests change any member
type Loose = ManifestObject & { spec: any }

const { policies, bindings } = shippedPolicies()

/** The objects of this release. */
export function presentObjects(): Loose[] {
  const crd: Loose = parse(readFileSync('crds/roleassignments.yaml', 'utf8'))
  return structuredClone([...policies, ...bindings, crd])
}

/** A release before this one: a rule less in one policy, another text in another one and in the CRD. */
export function formerObjects(): Loose[] {
  const objects = presentObjects()
  find(objects, REQUESTS).spec.validations.pop()
  find(objects, GOVERNANCE).spec.validations[0].messageExpression = "'former text'"
  const { versions } = find(objects, 'roleassignments.realmkeeper.io').spec
  versions[0].schema.openAPIV3Schema.description = 'Former text.'
  return objects
}

/** By its name; of a policy and its binding, the policy. */
export function find(objects: Loose[], name: string): Loose {
  return objects.find(({ metadata }) => metadata.name === name)!
}

/** What the former and the present release know. */
export const FORMER_SET = setOf(formerObjects(), [])
export const PRESENT_SET = setOf(presentObjects(), formerObjects())
