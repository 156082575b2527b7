import type { Rows } from '../rows/rows.ts'
import { keyOf } from '../source/resource.ts'
import type { Resource, ResourceKey } from '../source/resource.ts'
import type { ResourceSource } from '../source/resource_source.ts'
import type { RelationIndex } from './relation_index.ts'
import { realmPathOf, relation, subjectOf } from './relations.ts'
import { pathOf, realmName } from './resource_types.ts'
import type { ClientResource, RealmResource, UserResource } from './resource_types.ts'
import { NotYet } from './view.ts'
import type { View } from './view.ts'

/** The resource that holds a name which several claim, or that is next in line. */
export interface ClaimHolder {
  key: ResourceKey
  /** Whether it has the row. If not, it is the next one. */
  isRecorded: boolean
}

/** Finds the holder of a claim; undefined when there is none, or when it is not settled which one it is. */
export function claimHolders(source: ResourceSource, index: RelationIndex, rows: Rows, view: View) {
  return (claim: string): ClaimHolder | undefined => {
    const claimant = index.claimantsOf(claim).find(({ key }) => source.get(key))
    const resource = claimant && source.get(claimant.key)
    if (!resource) return undefined
    const recordedUid = recordedHolder(resource, claim, rows)
    try {
      const holder = view.holderOf(resource.kind, claim, recordedUid)
      return holder && { key: keyOf(holder), isRecorded: holder.metadata.uid === recordedUid }
    } catch (error) {
      // A change of the Realm that it waits for enqueues every claimant.
      if (error instanceof NotYet) return undefined
      throw error
    }
  }
}

/** uid of the resource whose row has the name that this resource claims. */
function recordedHolder(resource: Resource, claim: string, rows: Rows): string | undefined {
  // oxlint-disable typescript/no-unsafe-type-assertion -- a source hands out what its kind's schema accepts
  if (resource.kind === 'Realm') return rows.realmOwner(realmName(resource as RealmResource))
  if (resource.kind === 'Client') {
    const client = resource as ClientResource
    const realm = rows.realms.atPath(realmPathOf(client))?.realm
    return realm === undefined ? undefined : rows.clientOwner(realm, client.spec.clientId)
  }
  const user = resource as UserResource
  // oxlint-enable typescript/no-unsafe-type-assertion
  const path = realmPathOf(user)
  const realm = rows.realms.atPath(path)?.realm
  if (realm === undefined) return undefined
  const isUsername = claim === relation.username(path, user.spec.username)
  return isUsername ? rows.usernameOwner(realm, user.spec.username) : rows.subjectOwner(realm, subjectOf(user))
}

/** Texts of two resources compare as their ages: by creationTimestamp, then namespace/name, then uid. */
export function ageOf({ metadata }: Resource): string {
  return `${String(Date.parse(metadata.creationTimestamp)).padStart(15, '0')} ${pathOf(metadata)} ${metadata.uid}`
}
