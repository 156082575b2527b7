import { isDeepStrictEqual } from 'node:util'
import { shippedPolicies } from '../../crds/policies.ts'
import type { PolicyObject, PolicyName } from './policy_access.ts'

/** The policy that refuses decisions by whoever may not decide. */
export const DECISIONS_POLICY = 'realmkeeper-roleassignment-decisions'

const CRD = 'roleassignments.realmkeeper.io'

/** The objects that enforce approvals: the policies, their bindings and the CRD of RoleAssignment. */
export function policyNames(): PolicyName[] {
  const { policies, bindings } = shippedPolicies()
  return [
    ...[...policies, ...bindings].map(({ kind, metadata }) => ({ kind, name: metadata.name })),
    { kind: 'CustomResourceDefinition', name: CRD },
  ]
}

/** `Kind/name`. */
export function textOf({ kind, name }: PolicyName): string {
  return `${kind}/${name}`
}

/**
 * How one object differs from what is shipped, for people; undefined when it does not. Shipped specs hold every field
 * that the API server defaults, so that equal means equal: also one field more, as `matchConditions`, is a difference.
 */
export function differenceOf(name: PolicyName, present: PolicyObject | undefined): string | undefined {
  const text = `${name.kind} ${name.name}`
  if (!present) return `${text} is missing`
  if (present.metadata.deletionTimestamp !== undefined) return `${text} is being deleted`
  if (name.kind === 'CustomResourceDefinition') {
    const why = subresourceProblem(present.spec)
    return why && `${text} ${why}`
  }
  const { policies, bindings } = shippedPolicies()
  const shipped = [...policies, ...bindings].find(
    ({ kind, metadata }) => kind === name.kind && metadata.name === name.name,
  )
  return isDeepStrictEqual(present.spec, shipped?.spec) ? undefined : `${text} is not as shipped`
}

/** Without the status subresource, whoever edits spec writes decisions; a conversion could add some. */
function subresourceProblem(spec: unknown): string | undefined {
  const { versions, conversion }: CrdSpec = typeof spec === 'object' && spec !== null ? spec : {}
  if ((conversion?.strategy ?? 'None') !== 'None') return 'converts between versions by a webhook'
  const served = versions?.filter((version) => version.served) ?? []
  if (served.length === 0) return 'serves no version'
  const open = served.find(({ subresources }) => !isDeepStrictEqual(subresources, { status: {} }))
  return open && `serves version ${open.name} with other subresources than status`
}

interface CrdSpec {
  versions?: { name: string; served?: boolean; subresources?: unknown }[]
  conversion?: { strategy?: string }
}
