import { admitsNamespace } from './allowed_namespaces.ts'
import type { Rows } from '../rows/rows.ts'
import type { RelationIndex } from './relation_index.ts'
import { pathOf, realmName } from './resource_types.ts'
import type { NamesRealm, RealmResource, ResourceOf } from './resource_types.ts'
import type { Kind } from '../source/resource.ts'
import type { ResourceSource } from '../source/resource_source.ts'

/**
 * Thrown while something that a resource depends on is not settled: its realm is not reconciled yet, a list is not
 * complete. The controller requeues the resource and writes a status only when the wait lasts.
 */
export class NotYet extends Error {
  override readonly name = 'NotYet'
}

/** What reconcilers may know of other resources: objects as last seen, rows as last written. */
export interface View {
  /**
   * The realm that a resource belongs to, or why that realm does not admit it. Throws NotYet while this is not settled:
   * the Realm is not reconciled yet, or the list of Realms is not complete.
   */
  realmFor(resource: NamesRealm): RealmForResource

  /** One object as last seen, also while it is being deleted. */
  find<K extends Kind>(kind: K, namespace: string, name: string): ResourceOf<K> | undefined

  /**
   * The holder of a name that several resources of a kind claim: the recorded owner; else the oldest, by
   * creationTimestamp, then namespace/name, that is not being deleted and that its realm admits. `claim` is a
   * text of `relation`. Throws NotYet as `realmFor` does.
   */
  holderOf<K extends Kind>(kind: K, claim: string, recordedUid: string | undefined): ResourceOf<K> | undefined

  /** Every resource of a kind that has a text of `relation` among its `is`, in no order. */
  knownAs<K extends Kind>(kind: K, name: string): ResourceOf<K>[]

  /** The `sub` of a User's row in a realm; undefined without a row. */
  subjectOf(realm: string, userUid: string): string | undefined

  /**
   * True for a kind that was re-created while rows of the former one remain in a namespace: missing objects were not
   * deleted.
   */
  isRecreated(kind: Kind, namespace: string): boolean

  /** Whether objects of a namespace are received. What is missing elsewhere is unknown, and keeps its names. */
  covers(namespace: string): boolean
}

export type RealmForResource =
  | {
      admitted: true
      /** As in URLs and rows. */
      name: string
      uid: string
      resource: RealmResource
    }
  | { admitted: false; reason: 'RealmNotFound' | 'NamespaceNotAllowed'; message: string }

export function createView(
  source: ResourceSource,
  index: RelationIndex,
  rows: Rows,
  isRecreated: (kind: Kind, namespace: string) => boolean,
): View {
  const find = <K extends Kind>(kind: K, namespace: string, name: string): ResourceOf<K> | undefined =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a source hands out what its kind's schema accepts
    source.get({ kind, namespace, name }) as ResourceOf<K> | undefined

  const knownAs = <K extends Kind>(kind: K, name: string): ResourceOf<K>[] =>
    index.holdersOf(name).flatMap((key) => (key.kind === kind ? (find(kind, key.namespace, key.name) ?? []) : []))

  const view: View = {
    find,
    knownAs,
    subjectOf(realm, userUid) {
      const known = rows.users.get(userUid)
      return known?.realm === realm ? known.subject : undefined
    },
    isRecreated,
    covers: (namespace) => source.scope?.includes(namespace) ?? true,

    holderOf(kind, claim, recordedUid) {
      const claimants = index.claimantsOf(claim)
      const recorded = claimants.find(({ uid }) => uid === recordedUid)
      const holder = recorded && find(kind, recorded.key.namespace, recorded.key.name)
      if (holder && holder.metadata.uid === recordedUid) return holder
      for (const { key } of claimants) {
        const resource = find(kind, key.namespace, key.name)
        if (resource && isAdmissible(resource)) return resource
      }
      return undefined
    },

    realmFor({ metadata, spec }) {
      const namespace = spec.realmRef.namespace ?? metadata.namespace
      const path = pathOf({ namespace, name: spec.realmRef.name })
      const realm = find('Realm', namespace, spec.realmRef.name)
      if (!realm) {
        // A Realm taken for missing removes the rows of every resource that belongs to it.
        if (!view.covers(namespace)) {
          const message = `namespace ${namespace} of Realm ${path} is not watched by the operator (--watch-namespaces)`
          if (rows.realms.atPath(path)) throw new NotYet(message)
          return { admitted: false, reason: 'RealmNotFound', message }
        }
        if (!source.completeList('Realm'))
          throw new NotYet(`the list of Realms is not complete, and ${path} is not in it`)
        if (isRecreated('Realm', namespace) && rows.realms.atPath(path)) {
          throw new NotYet(`the kind Realm was re-created, and ${path} is not in it yet`)
        }
        return { admitted: false, reason: 'RealmNotFound', message: `there is no Realm ${path}` }
      }
      if (realm.metadata.deletionTimestamp !== undefined) {
        // Its finalize removes the rows, unless its kind is being deleted.
        if (rows.realms.atPath(path)) throw new NotYet(`Realm ${path} is being deleted`)
        return { admitted: false, reason: 'RealmNotFound', message: `Realm ${path} is being deleted` }
      }
      const labels = source.namespaceLabels(metadata.namespace)
      const admits = admitsNamespace(realm.spec.allowedNamespaces, namespace, metadata.namespace, labels)
      if (admits === 'unknown') {
        throw new NotYet(
          `Realm ${path} selects namespaces by label, and the labels of ${metadata.namespace} are unknown`,
        )
      }
      if (!admits) {
        return { admitted: false, reason: 'NamespaceNotAllowed', message: notAllowed(path, metadata.namespace) }
      }

      const name = realmName(realm)
      if (rows.realmOwner(name) === realm.metadata.uid) {
        return { admitted: true, name, uid: realm.metadata.uid, resource: realm }
      }
      const reason = rows.realmRefusal(realm.metadata.uid)
      if (!reason) throw new NotYet(`Realm ${path} is not registered yet`)
      return { admitted: false, reason: 'RealmNotFound', message: `Realm ${path} does not serve "${name}": ${reason}` }
    },
  }

  function isAdmissible(resource: ResourceOf<Kind>): boolean {
    if (resource.metadata.deletionTimestamp !== undefined) return false
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all kinds but Realm have a realmRef
    return resource.kind === 'Realm' || view.realmFor(resource as NamesRealm).admitted
  }

  return view
}

function notAllowed(realm: string, namespace: string): string {
  return `Realm ${realm} does not admit namespace ${namespace}: see its spec.allowedNamespaces`
}
