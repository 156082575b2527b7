import { expect, test } from 'vitest'
import type { PolicyObject } from '../../../operator/enforcement/policy_access.ts'
import { differenceOf, policyNames } from '../../../operator/enforcement/policy_check.ts'
import { textOf } from '../../../operator/enforcement/release/shipped_set.ts'
import { CRD, DECISIONS, installed } from './shipped.ts'

const POLICY = `ValidatingAdmissionPolicy/${DECISIONS}`
const BINDING = `ValidatingAdmissionPolicyBinding/${DECISIONS}`

type Objects = Map<string, PolicyObject>
// oxlint-disable-next-line typescript/no-explicit-any -- tests change any member
type Loose = Record<string, any>

function specOf(objects: Objects, name: string): Loose {
  return objects.get(name)?.spec as Loose
}

function differences(objects: Objects): string[] {
  return policyNames().flatMap((name) => differenceOf(name, objects.get(textOf(name))) ?? [])
}

test('the shipped objects have no differences: four policies, four bindings and two CRDs', () => {
  expect(differences(installed())).toEqual([])
  expect(policyNames()).toHaveLength(10)
})

test('a missing object is a difference', () => {
  for (const name of policyNames()) {
    const objects = installed()
    objects.delete(textOf(name))
    expect(differences(objects)).toEqual([`${name.kind} ${name.name} is missing`])
  }
})

test('a missing rule of a policy is a difference', () => {
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
  'a condition that matches no request': [
    POLICY,
    (spec) => (spec.matchConditions = [{ name: 'no', expression: 'false' }]),
  ],
  'a parameter': [POLICY, (spec) => (spec.paramKind = { apiVersion: 'v1', kind: 'ConfigMap' })],
  'other operations': [POLICY, (spec) => (spec.matchConstraints.resourceRules[0].operations = ['CREATE'])],
  'only some namespaces': [POLICY, (spec) => (spec.matchConstraints.namespaceSelector = { matchLabels: { a: 'b' } })],
  'an excluded resource': [POLICY, (spec) => (spec.matchConstraints.excludeResourceRules = [{}])],
  'a rewritten variable': [POLICY, (spec) => (spec.variables[0].expression = "'another'")],
  'a binding that only warns': [BINDING, (spec) => (spec.validationActions = ['Warn'])],
  'a binding that warns as well': [BINDING, (spec) => spec.validationActions.push('Warn')],
  'a binding of some namespaces': [BINDING, (spec) => (spec.matchResources = { namespaceSelector: {} })],
  'a binding of another policy': [BINDING, (spec) => (spec.policyName = 'other')],
  'a policy that is being deleted': [
    POLICY,
    (_, object) => (object.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'),
  ],
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

test('a version that is not served may differ', () => {
  const objects = installed()
  specOf(objects, CRD).versions.push({ name: 'v1alpha0', served: false })
  expect(differences(objects)).toEqual([])
})
