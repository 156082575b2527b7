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
  what: string
}

/** Reports objects that occur twice, and two objects with a name that must be unique. */
export function duplicateFindings(set: ManifestSet): Finding[] {
  return [
    ...twice(
      set.all.map((manifest) => ({ manifest, key: describe(manifest), path: ['metadata', 'name'], what: 'object' })),
    ),
    ...contested(set.realms.map((realm) => claim(realm, realmName(realm), ['spec', 'realm'], 'realm name'))),
    ...contested(
      set.clients.map((client) => {
        const key = inRealm(set, client, client.value.spec.clientId)
        return claim(client, key, ['spec', 'clientId'], 'clientId')
      }),
    ),
    ...contested(
      set.users.map((user) => {
        const key = inRealm(set, user, usernameKey(user.value.spec.username))
        return claim(user, key, ['spec', 'username'], 'username (letter case does not count)')
      }),
    ),
    ...contested(
      set.users.flatMap((user) => {
        const { subject } = user.value.spec
        return subject === undefined ? [] : [claim(user, inRealm(set, user, subject), ['spec', 'subject'], 'subject')]
      }),
    ),
  ]
}

function claim({ manifest }: Typed<unknown>, key: string, path: string[], what: string): Claim {
  return { manifest, key, path, what }
}

/** A key for a name that is unique in the realm of an object. The reference stands for a realm that is not known. */
function inRealm(
  set: ManifestSet,
  object: Typed<{ spec: { realmRef: { name: string; namespace?: string } } }>,
  name: string,
): string {
  const realm = realmOf(set, object)
  const { realmRef } = object.value.spec
  const where = realm ? realmName(realm) : [realmRef.namespace ?? object.manifest.namespace, realmRef.name]
  return JSON.stringify([where, name])
}

function twice(claims: Claim[]): Finding[] {
  return repeated(claims, (first) => `this object occurs already in ${positionOf(first)}; remove one of the two`)
}

/** An object that occurs twice counts once, because `twice` reports it. */
function contested(claims: Claim[]): Finding[] {
  const objects = new Map(claims.toReversed().map((one) => [`${describe(one.manifest)} ${one.key}`, one]))
  const distinct = claims.filter((one) => objects.get(`${describe(one.manifest)} ${one.key}`) === one)
  return repeated(distinct, (first, { what }) => {
    return `${describe(first.manifest)} (${positionOf(first)}) has the same ${what}; only the older one will be served`
  })
}

function repeated(claims: Claim[], message: (first: Claim, second: Claim) => string): Finding[] {
  const firsts = new Map<string, Claim>()
  return claims.flatMap((one) => {
    const first = firsts.get(one.key)
    if (first) return [findingAt(one.manifest, 'error', one.path, message(first, one))]
    firsts.set(one.key, one)
    return []
  })
}

function positionOf({ manifest, path }: Claim): string {
  const { file, line } = findingAt(manifest, 'note', path, '')
  return `${file}:${line}`
}
