import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shippedPolicies } from '../../crds/policies.ts'
import { startControlPlane } from '../support/control_plane.ts'
import type { ControlPlane } from '../support/control_plane.ts'
import { installPolicies, POLICY_PATHS } from '../support/policies.ts'

const { policies: POLICIES, bindings: POLICY_BINDINGS } = shippedPolicies()

describe('the policies as an API server stores them', () => {
  let plane: ControlPlane
  beforeAll(async () => {
    plane = await startControlPlane({ controllers: true })
    await installPolicies(plane.admin)
  })
  afterAll(() => plane?.stop())

  // The operator compares them, so the shipped specs must hold every field that the API server defaults.
  test.for([...POLICIES, ...POLICY_BINDINGS].map((each) => [each.kind, each.metadata.name, each] as const))(
    '%s %s is stored as it is shipped',
    async ([kind, name, shipped]) => {
      const stored = await plane.admin.do('GET', `${POLICY_PATHS[kind]}/${name}`)
      expect(stored.spec).toEqual(shipped.spec)
      expect(stored.metadata).toMatchObject({ ...shipped.metadata, generation: 1 })
    },
  )

  test.for(POLICIES.map(({ metadata }) => metadata.name))('%s raises no warning of the type checker', async (name) => {
    const status = await typeChecked(name)
    expect(status.typeChecking.expressionWarnings ?? []).toEqual([])
  })

  test('each policy is bound, under its own name, to refuse', () => {
    expect(
      POLICY_BINDINGS.map(({ metadata, spec }) => [metadata.name, spec.policyName, spec.validationActions]),
    ).toEqual(POLICIES.map(({ metadata }) => [metadata.name, metadata.name, ['Deny']]))
    expect(new Set(POLICIES.map(({ spec }) => spec.failurePolicy))).toEqual(new Set(['Fail']))
  })

  async function typeChecked(name: string) {
    for (let tries = 0; tries < 200; tries++) {
      const { status } = await plane.admin.do('GET', `${POLICY_PATHS.ValidatingAdmissionPolicy}/${name}`)
      if (status?.typeChecking) return status
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error(`${name} was not type checked`)
  }
})
