import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { shippedPolicies } from '../../../crds/policies.ts'
import { digestOf } from '../../../process/canonical_json.ts'
import type { PolicyName } from '../policy_access.ts'

/** The specs of the objects that enforce approvals: of this release, and of former ones. By `Kind/name`. */
export interface ShippedSet {
  present: ReadonlyMap<string, ShippedSpec>
  /** Each with its digest. */
  former: ReadonlyMap<string, ReadonlyMap<string, unknown>>
}

export interface ShippedSpec {
  spec: unknown
  digest: string
}

const CRDS = join(import.meta.dirname, '../../../crds')
/** One file for each former release, with its policies, bindings and the CRDs of RoleAssignment and Realm. */
const FORMER = join(CRDS, 'former')

let shipped: ShippedSet | undefined

/** Reads the files on the first call. */
export function shippedSet(): ShippedSet {
  shipped ??= readSet()
  return shipped
}

/** `Kind/name`. */
export function textOf({ kind, name }: PolicyName): string {
  return `${kind}/${name}`
}

/** A spec as the API server stores it. It adds this default to a CRD; shipped policies hold every default. */
function storedSpec(kind: string, spec: unknown): unknown {
  if (kind !== 'CustomResourceDefinition' || typeof spec !== 'object' || spec === null) return spec
  return { conversion: { strategy: 'None' }, ...spec }
}

/** The set of a release, from its objects and those of former releases. */
export function setOf(objects: readonly ManifestObject[], former: readonly ManifestObject[]): ShippedSet {
  const byName = new Map<string, Map<string, unknown>>()
  for (const object of former) {
    const [name, { spec, digest }] = shippedSpec(object)
    byName.set(name, new Map(byName.get(name)).set(digest, spec))
  }
  return { present: new Map(objects.map(shippedSpec)), former: byName }
}

function shippedSpec({ kind, metadata, spec }: ManifestObject): [name: string, ShippedSpec] {
  const stored = storedSpec(kind, spec)
  return [`${kind}/${metadata.name}`, { spec: stored, digest: digestOf(stored) }]
}

export interface ManifestObject {
  kind: string
  metadata: { name: string }
  spec: unknown
}

function readSet(): ShippedSet {
  const { policies, bindings } = shippedPolicies()
  const crds = ['roleassignments.yaml', 'realms.yaml'].map((file): ManifestObject =>
    parse(readFileSync(join(CRDS, file), 'utf8')),
  )
  return setOf([...policies, ...bindings, ...crds], readFormer())
}

function readFormer(): ManifestObject[] {
  if (!existsSync(FORMER)) return []
  return globSync('*.yaml', { cwd: FORMER }).flatMap((file) =>
    parseAllDocuments(readFileSync(join(FORMER, file), 'utf8')).map((document): ManifestObject => document.toJS()),
  )
}
