import { usernameKey } from '../../../store/username.ts'
import type { Finding } from '../finding.ts'
import { describe, findingAt } from '../manifest.ts'
import type { Manifest } from '../manifest.ts'
import { realmName, realmOf } from '../manifest_set.ts'
import type { ManifestSet, Typed } from '../manifest_set.ts'

/** An object's use of a name that must be unique. */
interface Claim {
  manifest: Manifest
  /** Equal when two objects use the same name. */
  key: string
  path: string[]
}

interface InRealm {
  realmRef: { name: string; namespace?: string }
}

/** Reports objects that occur twice, and two objects with a name that must be unique. */
export function duplicateFindings(set: ManifestSet): Finding[] {
  const objects = set.all.map((manifest) => ({ manifest, key: describe(manifest), path: ['metadata', 'name'] }))
  const realms = set.realms.map((realm) => {
    return { manifest: realm.manifest, key: realmName(realm), path: ['spec', 'realm'] }
  })
  const clientIds = claims(set, set.clients, 'clientId', ({ clientId }) => clientId)
  const usernames = claims(set, set.users, 'username', ({ username }) => usernameKey(username))
  const subjects = claims(set, set.users, 'subject', ({ subject }) => subject)
  return [
    ...twice(objects),
    ...contested('realm name', realms),
    ...contested('clientId', clientIds),
    ...contested('username (letter case does not count)', usernames),
    ...contested('subject', subjects),
  ]
}

/** The names that objects claim in their realms with a member of spec. */
function claims<Spec extends InRealm>(
  set: ManifestSet,
  objects: Typed<{ spec: Spec }>[],
  member: string,
  nameOf: (spec: Spec) => string | undefined,
): Claim[] {
  return objects.flatMap((object) => {
    const name = nameOf(object.value.spec)
    return name === undefined
      ? []
      : [{ manifest: object.manifest, key: keyInRealm(set, object, name), path: ['spec', member] }]
  })
}

/** A key for a name that is unique in the realm of an object. The reference stands for a realm that is not known. */
function keyInRealm(set: ManifestSet, object: Typed<{ spec: InRealm }>, name: string): string {
  const realm = realmOf(set, object)
  const { realmRef } = object.value.spec
  const where = realm ? realmName(realm) : [realmRef.namespace ?? object.manifest.namespace, realmRef.name]
  return JSON.stringify([where, name])
}

function twice(claims: Claim[]): Finding[] {
  return repeated(claims, (first) => `this object occurs already in ${positionOf(first)}; remove one of the two`)
}

/** An object that occurs twice counts once, because `twice` reports it. */
function contested(what: string, claims: Claim[]): Finding[] {
  const objects = new Map(claims.toReversed().map((one) => [`${describe(one.manifest)} ${one.key}`, one]))
  const distinct = claims.filter((one) => objects.get(`${describe(one.manifest)} ${one.key}`) === one)
  return repeated(distinct, (first) => {
    return `${describe(first.manifest)} (${positionOf(first)}) has the same ${what}; only the older one will be served`
  })
}

function repeated(claims: Claim[], message: (first: Claim) => string): Finding[] {
  const firsts = new Map<string, Claim>()
  return claims.flatMap((one) => {
    const first = firsts.get(one.key)
    if (first) return [findingAt(one.manifest, 'error', one.path, message(first))]
    firsts.set(one.key, one)
    return []
  })
}

function positionOf({ manifest, path }: Claim): string {
  const { file, line } = findingAt(manifest, 'note', path, '')
  return `${file}:${line}`
}
