import type { Condition, Kind, Resource, ResourceKey } from './resource.ts'

/**
 * Where resources come from: a cluster, or a directory of YAML files. It is shaped after a Kubernetes watch:
 * a complete first list, then events that only name a key. Whoever is told a key reads the present state;
 * an event is a reason to look, never a fact in itself.
 */
export interface ResourceSource {
  /** Lists everything, then watches. Resolves when every kind's first complete list is held. */
  start(): Promise<void>

  /** Stops watching; no listener is called afterwards. */
  stop(): Promise<void>

  /** Called with the key of each object that appeared, changed (metadata, spec or status) or went. May repeat. */
  onResource(listener: (key: ResourceKey) => void): void

  /** Called with the name of each Secret that appeared, changed or went. May repeat. */
  onSecret(listener: (secret: SecretName) => void): void

  /** Every object of a kind, as last seen. */
  list(kind: Kind): Resource[]

  /** The object under a key, as last seen; undefined when there is none. */
  get(key: ResourceKey): Resource | undefined

  /**
   * What the held list of a kind is worth to somebody who wants to delete what is not in it: undefined while it
   * is not known to be complete (a file does not parse, a watch is stale). The identity changes when the kind
   * itself was re-created, which is not a deletion of everything.
   */
  completeList(kind: Kind): { identity: string } | undefined

  /**
   * Resolves when all that had happened before the call is held: who begins to lead has to know no less than who led
   * before, or rows of that one look like leftovers. Waits for an API server that does not answer.
   */
  catchUp?(): Promise<void>

  /**
   * The identity of a kind, also while its list is not complete; a text of its own while the kind is being deleted,
   * when its objects go as if somebody deleted each. Undefined while it is not known.
   */
  identity?(kind: Kind): string | undefined

  /**
   * Looks now whether an object that is being deleted was deleted itself: false when it goes because its kind does, or
   * did. Rejects when that cannot be found out. Left out where kinds do not go.
   */
  isOwnDeletion?(resource: Resource): Promise<boolean>

  /**
   * Labels of a namespace, for `allowedNamespaces.selector`; undefined when it does not exist, `unknown` while
   * namespaces may not be looked at.
   */
  namespaceLabels(namespace: string): Record<string, string> | 'unknown' | undefined

  /**
   * Writes status on behalf of the operator and nothing of anybody else's: the named conditions are set, `fields`
   * replace those members of status, `removeApprovals` drops entries of `status.approvals` by approver. Nothing is
   * sent when nothing would change. Rejects with ResourceConflict when the object is another one by now (uid).
   */
  writeStatus(key: ResourceKey, uid: string, patch: StatusPatch): Promise<void>

  /** Adds or removes the operator's finalizer. Removing the last one of a deleted object lets it go. */
  setFinalizer(key: ResourceKey, uid: string, present: boolean): Promise<void>

  /** A Kubernetes Event on the object; sources without Events write a log line. Never throws. */
  recordEvent(key: ResourceKey, event: ResourceEvent): void

  readonly secrets: SecretAccess
}

export interface SecretName {
  namespace: string
  name: string
}

/** Identifies one state of one Secret, so that it is read again only when it changed. */
export interface SecretVersion {
  uid: string
  resourceVersion: string
}

/** A Secret with its bytes. Never log one, never put one into an error. */
export interface Secret extends SecretName {
  version: SecretVersion
  labels: Record<string, string>
  annotations: Record<string, string>
  /** uid of `metadata.ownerReferences` with `controller: true`, when there is one. */
  controllerUid?: string
  /** Field managers other than the operator that own something under `data`. */
  foreignManagers: string[]
  data: Record<string, Buffer>
}

/** What the operator wants a Secret of its own to be. */
export interface DesiredSecret extends SecretName {
  labels: Record<string, string>
  annotations?: Record<string, string>
  /** The resource that owns it, so that it goes with its owner; none for keyrings. */
  controller?: Resource
  data: Record<string, Buffer>
}

export interface SecretAccess {
  /** The version as last seen, without reading the bytes; undefined when there is no such Secret. */
  version(name: SecretName): SecretVersion | undefined
  /** Reads the bytes now. Undefined when there is no such Secret. */
  read(name: SecretName): Promise<Secret | undefined>
  /** Rejects with ResourceConflict when one of that name exists already. */
  create(secret: DesiredSecret): Promise<SecretVersion>
  /** Replaces data, labels and annotations. Rejects with ResourceConflict when the version is not the present one. */
  update(secret: DesiredSecret, version: SecretVersion): Promise<SecretVersion>
  /** Nothing to delete is success. */
  delete(name: SecretName): Promise<void>
}

export interface StatusPatch {
  observedGeneration: number
  conditions: Omit<Condition, 'lastTransitionTime'>[]
  /** Members of status other than conditions; undefined removes one. */
  fields?: Record<string, unknown>
  removeApprovals?: string[]
}

export interface ResourceEvent {
  type: 'Normal' | 'Warning'
  reason: string
  message: string
}

/** The object is not the one that was read: gone, re-created, or changed meanwhile. Read it again and decide again. */
export class ResourceConflict extends Error {
  override readonly name = 'ResourceConflict'
}
