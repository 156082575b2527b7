import { isDeepStrictEqual } from 'node:util'
import { shippedPolicies } from '../../crds/policies.ts'
import type { PolicyIdentities } from '../../store/operator/approval_enforcement.ts'
import type { CheckResult } from './gap.ts'
import { NoAnswer, ReadForbidden } from './policy_access.ts'
import type { PolicyAccess, PolicyName, PolicyObject, ProbeResult } from './policy_access.ts'

/** The policy that refuses decisions of accounts that may not decide. */
const DECISIONS_POLICY = 'realmkeeper-roleassignment-decisions'

const CRD = 'roleassignments.realmkeeper.io'

/** A result, and that of the probe; `probe` is undefined when none was made. */
export interface PolicyCheck {
  result: CheckResult
  probe?: ProbeResult['result']
}

/**
 * Compares policies, bindings and CRD with the shipped ones and, where `needsProbe`, probes that a decision is refused.
 * Rejects only for errors that are not answers of the API server.
 */
export async function checkPolicies(
  access: PolicyAccess,
  needsProbe: (identities: PolicyIdentities) => boolean,
): Promise<PolicyCheck> {
  try {
    const objects = await Promise.all(policyNames().map(async (name) => ({ name, object: await access.read(name) })))
    const differences = objects.flatMap(({ name, object }) => differenceOf(name, object) ?? [])
    if (differences.length > 0) return failed('PoliciesDiffer', differences.join('; '))
    const identities = Object.fromEntries(
      objects.flatMap(({ name, object }) =>
        object ? [[textOf(name), { uid: object.metadata.uid, generation: object.metadata.generation }]] : [],
      ),
    )
    const passed: CheckResult = { outcome: 'passed', identities }
    if (!needsProbe(identities)) return { result: passed }

    const probe = await access.probe()
    if (probe.result === 'none' || (probe.result === 'refused' && probe.policy === DECISIONS_POLICY)) {
      return { result: passed, probe: probe.result }
    }
    const why = probe.result === 'refused' ? `the policy ${probe.policy} refused it instead` : probe.why
    const message = `${DECISIONS_POLICY} did not refuse a decision of the operator itself (dry run): ${why}`
    return { ...failed('DecisionsNotRefused', message), probe: 'failed' }
  } catch (error) {
    if (error instanceof ReadForbidden) return failed('AccessDenied', error.message)
    if (error instanceof NoAnswer) return { result: { outcome: 'no_answer', message: error.message } }
    throw error
  }
}

function failed(reason: Extract<CheckResult, { outcome: 'failed' }>['reason'], message: string): PolicyCheck {
  return { result: { outcome: 'failed', reason, message } }
}

/** The objects that enforce approvals: the policies, their bindings and the CRD of RoleAssignment. */
export function policyNames(): PolicyName[] {
  return [
    ...shipped().map(({ kind, metadata }) => ({ kind, name: metadata.name })),
    { kind: 'CustomResourceDefinition', name: CRD },
  ]
}

/** `Kind/name`. */
export function textOf({ kind, name }: PolicyName): string {
  return `${kind}/${name}`
}

/**
 * How an object differs from the shipped one; undefined when it is equal. Shipped specs hold every field that the API
 * server defaults, so an additional field, for example `matchConditions`, is a difference.
 */
export function differenceOf(name: PolicyName, present: PolicyObject | undefined): string | undefined {
  const text = `${name.kind} ${name.name}`
  if (!present) return `${text} is missing`
  if (present.metadata.deletionTimestamp !== undefined) return `${text} is being deleted`
  if (name.kind === 'CustomResourceDefinition') {
    const problem = subresourceProblem(present.spec)
    return problem && `${text} ${problem}`
  }
  const expected = shipped().find(({ kind, metadata }) => kind === name.kind && metadata.name === name.name)
  return isDeepStrictEqual(present.spec, expected?.spec) ? undefined : `${text} is not as shipped`
}

function shipped() {
  const { policies, bindings } = shippedPolicies()
  return [...policies, ...bindings]
}

/** Without the status subresource, an edit of spec could write decisions; a conversion webhook could add some. */
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
