import { isObject } from './defaulting.ts'
import type { Problem } from './problem.ts'

/** Members of metav1.ObjectMeta. Exported manifests hold also those that the API server sets. */
const MEMBERS = new Set([
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
  'selfLink',
])

const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

/** Checks metadata by the rules of the API server that hold for every kind. */
export function metadataProblems(metadata: unknown): Problem[] {
  if (!isObject(metadata)) return [{ path: ['metadata'], message: 'is required, with at least a name' }]
  return [
    ...Object.keys(metadata)
      .filter((member) => !MEMBERS.has(member))
      .map((member) => ({ path: ['metadata', member], message: 'unknown field' })),
    ...nameProblems(metadata),
    ...textMap(metadata, 'annotations', () => true),
    ...textMap(metadata, 'labels', (value) => value.length <= 63 && LABEL_VALUE.test(value)),
  ]
}

function nameProblems({ name, namespace }: Record<string, unknown>): Problem[] {
  const problems: Problem[] = []
  if (typeof name !== 'string') {
    problems.push({ path: ['metadata', 'name'], message: 'is required and must be a string' })
  } else if (name.length > 253 || !DNS_SUBDOMAIN.test(name)) {
    const message = 'must be a DNS name: at most 253 lower-case letters, digits, hyphens and dots'
    problems.push({ path: ['metadata', 'name'], message })
  }
  if (namespace === undefined || namespace === null) return problems
  if (typeof namespace !== 'string' || namespace.length > 63 || !DNS_LABEL.test(namespace)) {
    const message = 'must be a DNS label: at most 63 lower-case letters, digits and hyphens'
    problems.push({ path: ['metadata', 'namespace'], message })
  }
  return problems
}

function textMap(metadata: Record<string, unknown>, member: string, fits: (value: string) => boolean): Problem[] {
  const map = metadata[member]
  if (map === undefined || map === null) return []
  if (!isObject(map)) return [{ path: ['metadata', member], message: 'must be a map' }]
  return Object.entries(map).flatMap(([name, value]) => {
    const path = ['metadata', member, name]
    if (typeof value !== 'string') return [{ path, message: `must be a string, not ${typeof value}; put it in quotes` }]
    return fits(value) ? [] : [{ path, message: 'is not a label value: at most 63 letters, digits, and - _ . inside' }]
  })
}
