import { usernameKey } from '../../../store/username.ts'
import type { Finding } from '../finding.ts'
import { describe, findingAt } from '../manifest.ts'
import type { Manifest } from '../manifest.ts'
import { realmName, realmOf } from '../manifest_set.ts'
import type { ManifestSet, Typed } from '../manifest_set.ts'

/** One claim to a name that only one object can have. */
interface Claim {
  manifest: Manifest
  /** Equal for two claims to the same name. */
  key: string
  path: string[]
  what: string
}

/** Objects that are there twice, and names that two objects claim. */
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

/** A name within the realm that an object refers to; where the realm is not known, within the reference. */
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
  return repeated(claims, (first) => `this object is already in ${placeOf(first)}; remove one of the two`)
}

/** The same object twice claims its name once: that it is there twice has been said. */
function contested(claims: Claim[]): Finding[] {
  const objects = new Map(claims.toReversed().map((one) => [`${describe(one.manifest)} ${one.key}`, one]))
  const distinct = claims.filter((one) => objects.get(`${describe(one.manifest)} ${one.key}`) === one)
  return repeated(distinct, (first, { what }) => {
    return `${describe(first.manifest)} (${placeOf(first)}) has the same ${what}; only the older one will be served`
  })
}

function repeated(claims: Claim[], message: (first: Claim, second: Claim) => string): Finding[] {
  const firsts = new Map<string, Claim>()
  return claims.flatMap((one) => {
    const first = firsts.get(one.key)
    if (first) return [findingAt(one.manifest, 'error', { path: one.path, message: message(first, one) })]
    firsts.set(one.key, one)
    return []
  })
}

function placeOf({ manifest, path }: Claim): string {
  const { file, line } = findingAt(manifest, 'note', { path, message: '' })
  return `${file}:${line}`
}
