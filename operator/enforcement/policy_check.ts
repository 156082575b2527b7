import { isDeepStrictEqual } from 'node:util'
import type { PolicyIdentities } from '../../store/operator/approval_enforcement.ts'
import type { CheckResult } from './gap.ts'
import { NoAnswer, ReadForbidden } from './policy_access.ts'
import type { PolicyAccess, PolicyKind, PolicyName, PolicyObject, ProbeResult } from './policy_access.ts'
import { shippedSet, textOf } from './release/shipped_set.ts'
import type { ShippedSet } from './release/shipped_set.ts'
import { shippedDigest } from './release/continuity.ts'

/** The policy that refuses decisions of accounts that may not decide. */
const DECISIONS_POLICY = 'realmkeeper-roleassignment-decisions'

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
  set = shippedSet(),
): Promise<PolicyCheck> {
  try {
    const objects = await Promise.all(policyNames(set).map(async (name) => ({ name, object: await access.read(name) })))
    const differences = objects.flatMap(({ name, object }) => differenceOf(name, object, set) ?? [])
    if (differences.length > 0) {
      const isRevealed = objects.every(({ object }) => object && object.metadata.deletionTimestamp === undefined)
      return failed('PoliciesDiffer', differences.join('; '), isRevealed)
    }
    const identities: PolicyIdentities = {}
    const shipped: Record<string, string> = {}
    for (const { name, object } of objects) {
      if (!object) continue
      const { uid, generation } = object.metadata
      identities[textOf(name)] = { uid, generation }
      const digest = shippedDigest(set, textOf(name), object.spec)
      if (digest !== undefined) shipped[textOf(name)] = digest
    }
    const passed: CheckResult = { outcome: 'passed', identities, shipped }
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

function failed(
  reason: Extract<CheckResult, { outcome: 'failed' }>['reason'],
  message: string,
  isRevealed = false,
): PolicyCheck {
  return { result: { outcome: 'failed', reason, message, isRevealed } }
}

/** The objects that enforce approvals: the policies, their bindings, and the CRDs of RoleAssignment and Realm. */
export function policyNames(set = shippedSet()): PolicyName[] {
  return [...set.present.keys()].map((text) => {
    const [kind = '', name = ''] = text.split('/')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the set holds these kinds only
    return { kind: kind as PolicyKind, name }
  })
}

/**
 * How an object differs from the shipped one; undefined when it is equal. Shipped specs hold every field that the API
 * server defaults, so an additional field, for example `matchConditions`, is a difference.
 */
export function differenceOf(
  name: PolicyName,
  present: PolicyObject | undefined,
  set: ShippedSet = shippedSet(),
): string | undefined {
  const text = `${name.kind} ${name.name}`
  if (!present) return `${text} is missing`
  if (present.metadata.deletionTimestamp !== undefined) return `${text} is being deleted`
  if (name.kind === 'CustomResourceDefinition') {
    const problem = subresourceProblem(present.spec)
    return problem && `${text} ${problem}`
  }
  return isDeepStrictEqual(present.spec, set.present.get(textOf(name))?.spec) ? undefined : `${text} is not as shipped`
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
