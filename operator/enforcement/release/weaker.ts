import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../../crds/validation/defaulting.ts'
import { canonicalText } from '../../../process/canonical_json.ts'

type Fields = Record<string, unknown>

/**
 * Whether a spec refuses everything that a former one refused, as far as a comparison of texts shows it. In doubt, false:
 * the change is then a gap.
 */
export function isNotWeaker(name: string, former: unknown, present: unknown): boolean {
  if (!isObject(former) || !isObject(present)) return false
  if (name.startsWith('ValidatingAdmissionPolicy/')) return policyNotWeaker(former, present)
  if (name.startsWith('CustomResourceDefinition/')) return crdNotWeaker(former, present)
  return isDeepStrictEqual(former, present)
}

/** Rules, variables and matched requests may only be added; everything else stays. A message is no rule. */
function policyNotWeaker(former: Fields, present: Fields): boolean {
  const { validations, variables, matchConstraints, ...rest } = former
  const { validations: validationsNow, variables: variablesNow, matchConstraints: matchNow, ...restNow } = present
  if (!isObject(matchConstraints) || !isObject(matchNow)) return false
  const { resourceRules, ...match } = matchConstraints
  const { resourceRules: resourceRulesNow, ...matchRestNow } = matchNow
  return (
    isDeepStrictEqual(rest, restNow) &&
    isDeepStrictEqual(match, matchRestNow) &&
    hasAll(resourceRulesNow, resourceRules) &&
    hasAll(variablesNow, variables) &&
    hasAll(expressionsOf(validationsNow), expressionsOf(validations))
  )
}

/**
 * Former policies do not know new members of spec or of a decision, and new policies may rely on them. So these parts of
 * the schema stay in all versions.
 */
function crdNotWeaker(former: Fields, present: Fields): boolean {
  const before = new Set(versionsOf(former).map(canonicalText))
  const after = new Set(versionsOf(present).map(canonicalText))
  return before.size === 1 && after.size === 1 && isDeepStrictEqual(before, after)
}

function versionsOf({ versions }: Fields): unknown[] {
  return listOf(versions)
    .filter(isObject)
    .map(({ schema, subresources }) => {
      const root = withoutTexts(isObject(schema) ? schema['openAPIV3Schema'] : undefined)
      if (!isObject(root) || !isObject(root['properties'])) return null
      const { status, ...properties } = root['properties']
      return { subresources, root: { ...root, properties }, decisions: withoutGranted(status) }
    })
}

/** `granted` is written by holders of `report` only, under every release. */
function withoutGranted(status: unknown): unknown {
  if (!isObject(status) || !isObject(status['properties'])) return status
  const { granted: _, ...properties } = status['properties']
  return { ...status, properties }
}

function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts)
  if (!isObject(value)) return value
  const members = Object.entries(value).filter(([name, member]) => name !== 'description' || typeof member !== 'string')
  return Object.fromEntries(members.map(([name, member]) => [name, withoutTexts(member)]))
}

function expressionsOf(validations: unknown): unknown[] {
  return listOf(validations).map((one) => (isObject(one) ? one['expression'] : one))
}

function hasAll(list: unknown, members: unknown): boolean {
  return listOf(members).every((member) => listOf(list).some((one) => isDeepStrictEqual(one, member)))
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
