import type { Client } from '../../crds/client.gen.ts'
import { isObject } from '../../crds/validation/defaulting.ts'
import type { Realm } from '../../crds/realm.gen.ts'
import type { RoleAssignment } from '../../crds/role_assignment.gen.ts'
import type { User } from '../../crds/user.gen.ts'
import { NAME_LABEL } from '../../operator/view/allowed_namespaces.ts'
import type { CheckedManifest } from './check_objects.ts'
import type { Manifest } from './manifest.ts'
import { secretOf } from './secret.ts'
import type { KnownSecret } from './secret.ts'

/** An object that is valid under its schema, with its manifest. */
export interface Typed<Value> {
  manifest: Manifest
  value: Value
}

/** The objects of the given files, indexed for the checks of references. */
export interface ManifestSet {
  realms: Typed<Realm>[]
  clients: Typed<Client>[]
  users: Typed<User>[]
  roleAssignments: Typed<RoleAssignment>[]
  /** Labels by namespace, of the Namespace manifests. */
  namespaces: Map<string, Record<string, string>>
  secrets: KnownSecret[]
  /** All objects of our kinds, also invalid ones. */
  all: CheckedManifest[]
  /** Names of all of them by kind and namespace: a reference to an invalid object is no error. */
  names: Map<string, Set<string>>
}

export function manifestSet(manifests: Manifest[], checked: CheckedManifest[]): ManifestSet {
  const namespaces = manifests.filter(({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Namespace')
  return {
    realms: typed<Realm>(checked, 'Realm'),
    clients: typed<Client>(checked, 'Client'),
    users: typed<User>(checked, 'User'),
    roleAssignments: typed<RoleAssignment>(checked, 'RoleAssignment'),
    namespaces: new Map(namespaces.map(({ name, object }) => [name, { ...labelsOf(object), [NAME_LABEL]: name }])),
    secrets: manifests.flatMap((manifest) => secretOf(manifest) ?? []),
    all: checked,
    names: namesOf(checked),
  }
}

function namesOf(checked: CheckedManifest[]): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>()
  for (const { kind, namespace, name } of checked) {
    const group = names.get(`${kind}/${namespace}`) ?? new Set()
    names.set(`${kind}/${namespace}`, group.add(name))
  }
  return names
}

/** `missing` when the set holds other objects of that kind and namespace, `elsewhere` when it holds none. */
export function presence(
  set: ManifestSet,
  kind: string,
  namespace: string,
  name: string,
): 'present' | 'missing' | 'elsewhere' {
  const siblings = set.names.get(`${kind}/${namespace}`)
  if (!siblings) return 'elsewhere'
  return siblings.has(name) ? 'present' : 'missing'
}

/** The name of a realm in URLs. */
export function realmName({ manifest, value }: Typed<Realm>): string {
  return value.spec.realm ?? manifest.name
}

/** The realm that an object refers to; undefined when the set does not hold it or it is invalid. */
export function realmOf(
  set: ManifestSet,
  { manifest, value }: Typed<{ spec: { realmRef: { name: string; namespace?: string } } }>,
): Typed<Realm> | undefined {
  const { name, namespace = manifest.namespace } = value.spec.realmRef
  return set.realms.find((realm) => realm.manifest.name === name && realm.manifest.namespace === namespace)
}

// The value was validated against the schema that the type is generated from.
// oxlint-disable typescript/no-unsafe-type-assertion
function typed<Value>(checked: CheckedManifest[], kind: string): Typed<Value>[] {
  return checked.flatMap((manifest) =>
    manifest.kind === kind && manifest.value ? [{ manifest, value: manifest.value as Value }] : [],
  )
}

function labelsOf(object: Record<string, unknown>): Record<string, string> {
  const labels = isObject(object['metadata']) ? object['metadata']['labels'] : undefined
  const texts = Object.entries(isObject(labels) ? labels : {}).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(texts) as Record<string, string>
}
