import { shippedPolicies } from '../../../crds/policies.ts'
import type { PolicyObject } from '../../../operator/enforcement/policy_access.ts'
import { textOf } from '../../../operator/enforcement/release/shipped_set.ts'

const { policies: POLICIES, bindings: POLICY_BINDINGS } = shippedPolicies()

export const DECISIONS = 'realmkeeper-roleassignment-decisions'
export const CRD = 'CustomResourceDefinition/roleassignments.realmkeeper.io'

/** The objects that enforce approvals, as after an installation, for a test to change. */
export function installed(): Map<string, PolicyObject> {
  const crd = (name: string): PolicyObject => ({
    kind: 'CustomResourceDefinition',
    metadata: { name, uid: `uid-${name}`, generation: 1 },
    spec: {
      conversion: { strategy: 'None' },
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema: {}, subresources: { status: {} } }],
    },
  })
  const objects: PolicyObject[] = [
    ...[...POLICIES, ...POLICY_BINDINGS].map(({ kind, metadata, spec }) => ({
      kind,
      metadata: { name: metadata.name, uid: `uid-${kind}-${metadata.name}`, generation: 1 },
      spec,
    })),
    crd('roleassignments.realmkeeper.io'),
    crd('realms.realmkeeper.io'),
  ]
  const byName = objects.map((object) => [textOf({ kind: object.kind, name: object.metadata.name }), object] as const)
  return new Map(structuredClone(byName))
}
