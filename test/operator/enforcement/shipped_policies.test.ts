import { expect, test } from 'vitest'
import type { PolicyObject } from '../../../operator/enforcement/policy_access.ts'
import { differenceOf, policyNames, textOf } from '../../../operator/enforcement/shipped_policies.ts'
import { CRD, DECISIONS, installed } from './shipped.ts'

const POLICY = `ValidatingAdmissionPolicy/${DECISIONS}`
const BINDING = `ValidatingAdmissionPolicyBinding/${DECISIONS}`

type Objects = Map<string, PolicyObject>
// oxlint-disable-next-line typescript/no-explicit-any -- tests break whatever they like
type Loose = Record<string, any>

function specOf(objects: Objects, name: string): Loose {
  return objects.get(name)?.spec as Loose
}

function differences(objects: Objects): string[] {
  return policyNames().flatMap((name) => differenceOf(name, objects.get(textOf(name))) ?? [])
}

test('what is shipped is as shipped, four policies, four bindings and the CRD', () => {
  expect(differences(installed())).toEqual([])
  expect(policyNames()).toHaveLength(9)
})

test('each object is missed', () => {
  for (const name of policyNames()) {
    const objects = installed()
    objects.delete(textOf(name))
    expect(differences(objects)).toEqual([`${name.kind} ${name.name} is missing`])
  }
})

test('each rule of each policy is missed', () => {
  for (const name of policyNames().filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')) {
    const { validations } = specOf(installed(), textOf(name)) as { validations: unknown[] }
    for (const index of validations.keys()) {
      const objects = installed()
      specOf(objects, textOf(name)).validations.splice(index, 1)
      expect(differences(objects), `rule ${index} of ${name.name}`).toEqual([
        `${name.kind} ${name.name} is not as shipped`,
      ])
    }
  }
})

const CHANGES: Record<string, [string, (spec: Loose, object: PolicyObject) => void]> = {
  'row 114: failurePolicy Ignore': [POLICY, (spec) => (spec.failurePolicy = 'Ignore')],
  'a condition that matches nobody': [POLICY, (spec) => (spec.matchConditions = [{ name: 'no', expression: 'false' }])],
  'a parameter': [POLICY, (spec) => (spec.paramKind = { apiVersion: 'v1', kind: 'ConfigMap' })],
  'other operations': [POLICY, (spec) => (spec.matchConstraints.resourceRules[0].operations = ['CREATE'])],
  'only some namespaces': [POLICY, (spec) => (spec.matchConstraints.namespaceSelector = { matchLabels: { a: 'b' } })],
  'an excluded resource': [POLICY, (spec) => (spec.matchConstraints.excludeResourceRules = [{}])],
  'a rewritten variable': [POLICY, (spec) => (spec.variables[0].expression = "'somebody'")],
  'a binding that only warns': [BINDING, (spec) => (spec.validationActions = ['Warn'])],
  'a binding that warns as well': [BINDING, (spec) => spec.validationActions.push('Warn')],
  'a binding of some namespaces': [BINDING, (spec) => (spec.matchResources = { namespaceSelector: {} })],
  'a binding of another policy': [BINDING, (spec) => (spec.policyName = 'other')],
  'a policy on its way out': [POLICY, (_, object) => (object.metadata.deletionTimestamp = '2026-01-01T00:00:00Z')],
  'no status subresource': [CRD, (spec) => delete spec.versions[0].subresources],
  'a scale subresource': [CRD, (spec) => (spec.versions[0].subresources.scale = {})],
  'a second version without it': [CRD, (spec) => spec.versions.push({ name: 'v1', served: true })],
  'no served version': [CRD, (spec) => (spec.versions[0].served = false)],
  'a conversion by webhook': [CRD, (spec) => (spec.conversion.strategy = 'Webhook')],
}

test.for(Object.entries(CHANGES))('%s is a difference', ([, [name, change]]) => {
  const objects = installed()
  const object = objects.get(name)
  if (!object) throw new Error(`no ${name}`)
  change(object.spec as Loose, object)
  expect(differences(objects)).toHaveLength(1)
})

test('a version that is not served may be anything', () => {
  const objects = installed()
  specOf(objects, CRD).versions.push({ name: 'v1alpha0', served: false })
  expect(differences(objects)).toEqual([])
})
