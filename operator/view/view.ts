import { admitsNamespace } from './allowed_namespaces.ts'
import type { RelationIndex } from './relation_index.ts'
import { pathOf, realmName } from './resource_types.ts'
import type { NamesRealm, RealmResource, ResourceOf } from './resource_types.ts'
import type { Kind, Resource } from '../source/resource.ts'
import type { ResourceSource } from '../source/resource_source.ts'

/**
 * Thrown while something that a resource depends on is not settled: its realm is not reconciled yet, a list is not
 * complete. The controller requeues the resource and writes a status only when the wait lasts.
 */
export class NotYet extends Error {
  override readonly name = 'NotYet'
}

/** What reconcilers may know of other resources: as last seen, and as registered. */
export interface View {
  /**
   * The realm that a resource belongs to, if that realm takes it. Throws NotYet while the answer may still change by
   * itself: the Realm is yet to be reconciled, or the Realms seen are not all there are.
   */
  realmFor(resource: NamesRealm): RealmForResource

  /** One object as last seen, also while it is being deleted. */
  find<K extends Kind>(kind: K, namespace: string, name: string): ResourceOf<K> | undefined

  /**
   * Who holds a name that several resources of a kind claim: the recorded owner, else the oldest that is not being
   * deleted and that its realm takes. `claim` is a text of `relation`.
   */
  holderOf<K extends Kind>(kind: K, claim: string, recordedUid: string | undefined): ResourceOf<K> | undefined

  /** Every resource of a kind that is known by a text of `relation`, in no order. */
  knownAs<K extends Kind>(kind: K, name: string): ResourceOf<K>[]

  /**
   * The `sub` under which a User is registered in a realm: undefined before its row is written, and once it is
   * removed.
   */
  subjectOf(realm: string, userUid: string): string | undefined

  /** True while a kind was made anew and rows of the former one wait for their resources: what is missing was not deleted. */
  isRecreated(kind: Kind): boolean
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

/** What the view has to know of the rows. */
export interface Registered {
  /** uid of the Realm whose row holds a realm name. */
  realmOwner(realm: string): string | undefined
  /** True while a realm is served that the Realm of this `namespace/name` made, or a former one of that name. */
  hasRealmAt(path: string): boolean
  /** Why a Realm was refused the last time it was looked at; undefined when it was not, or not yet looked at. */
  realmRefusal(realmUid: string): string | undefined
  subjectOf(realm: string, userUid: string): string | undefined
}

export function createView(
  source: ResourceSource,
  index: RelationIndex,
  registered: Registered,
  isRecreated: (kind: Kind) => boolean = () => false,
): View {
  const find = <K extends Kind>(kind: K, namespace: string, name: string): ResourceOf<K> | undefined =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a source hands out what its kind's schema accepts
    source.get({ kind, namespace, name }) as ResourceOf<K> | undefined

  const knownAs = <K extends Kind>(kind: K, name: string): ResourceOf<K>[] =>
    index.holdersOf(name).flatMap((key) => (key.kind === kind ? (find(kind, key.namespace, key.name) ?? []) : []))

  const view: View = {
    find,
    knownAs,
    subjectOf: (realm, userUid) => registered.subjectOf(realm, userUid),
    isRecreated,

    holderOf(kind, claim, recordedUid) {
      const claimants = knownAs(kind, claim).filter(
        (resource) => resource.metadata.uid === recordedUid || isAdmissible(resource),
      )
      return claimHolder(claimants, recordedUid)
    },

    realmFor({ metadata, spec }) {
      const namespace = spec.realmRef.namespace ?? metadata.namespace
      const path = pathOf({ namespace, name: spec.realmRef.name })
      const realm = find('Realm', namespace, spec.realmRef.name)
      if (!realm) {
        // Taken for gone too early, it would take the rows of all that belongs to it along.
        if (!source.completeList('Realm')) throw new NotYet(`not all Realms are known; ${path} may be among the rest`)
        if (isRecreated('Realm') && registered.hasRealmAt(path)) {
          throw new NotYet(`the kind Realm was made anew; ${path} is not there yet`)
        }
        return { admitted: false, reason: 'RealmNotFound', message: `there is no Realm ${path}` }
      }
      if (realm.metadata.deletionTimestamp !== undefined) {
        // Its rows go with it, unless it goes because its kind does.
        if (registered.hasRealmAt(path)) throw new NotYet(`Realm ${path} is being deleted`)
        return { admitted: false, reason: 'RealmNotFound', message: `Realm ${path} is being deleted` }
      }
      const labels = source.namespaceLabels(metadata.namespace)
      const admits = admitsNamespace(realm.spec.allowedNamespaces, namespace, metadata.namespace, labels)
      if (admits === 'unknown') {
        throw new NotYet(`Realm ${path} selects by labels, and those of namespace ${metadata.namespace} are not known`)
      }
      if (!admits) {
        return { admitted: false, reason: 'NamespaceNotAllowed', message: notAllowed(path, metadata.namespace) }
      }

      const name = realmName(realm)
      if (registered.realmOwner(name) === realm.metadata.uid) {
        return { admitted: true, name, uid: realm.metadata.uid, resource: realm }
      }
      const reason = registered.realmRefusal(realm.metadata.uid)
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

/**
 * Which of several resources that claim one name holds it: the recorded owner; else the oldest, by creationTimestamp,
 * then namespace/name, then uid. The order of the claimants does not matter. Undefined when there are none.
 */
export function claimHolder<R extends Resource>(
  claimants: readonly R[],
  recordedUid: string | undefined,
): R | undefined {
  const recorded = claimants.find(({ metadata }) => metadata.uid === recordedUid)
  return recorded ?? claimants.toSorted(byAge)[0]
}

function byAge({ metadata: a }: Resource, { metadata: b }: Resource): number {
  return (
    Date.parse(a.creationTimestamp) - Date.parse(b.creationTimestamp) ||
    compare(pathOf(a), pathOf(b)) ||
    compare(a.uid, b.uid)
  )
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
