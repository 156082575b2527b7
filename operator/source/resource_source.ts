import type { Condition, Kind, Resource, ResourceKey } from './resource.ts'

/**
 * Where resources come from: a cluster, or a directory of YAML files. It has the form of a Kubernetes watch: a complete
 * first list, then events that only name a key. A listener reads the present state of the key; the event itself carries
 * none.
 */
export interface ResourceSource {
  /** Lists everything, then watches. Resolves after the first complete list of every kind. */
  start(): Promise<void>

  /** Stops watching. No listener is called afterwards. */
  stop(): Promise<void>

  /** Calls the listener with the key of each object that appeared, changed or disappeared. May repeat. */
  onResource(listener: (key: ResourceKey) => void): void

  /** Calls the listener with the name of each Secret that appeared, changed or disappeared. May repeat. */
  onSecret(listener: (secret: SecretName) => void): void

  /** Every object of a kind, as last received. */
  list(kind: Kind): Resource[]

  /**
   * The namespaces whose objects are received. What is missing elsewhere is unknown, and was not deleted. Absent where
   * all are received.
   */
  scope?: readonly string[] | undefined

  /**
   * Objects outside the scope that are being deleted and have the operator's finalizer, which only an operator of their
   * namespace removes. Undefined while they are unknown, for example without the right to list them.
   */
  waitingOutside?(): Promise<ResourceKey[] | undefined>

  /** The object under a key, as last received; undefined when there is none. */
  get(key: ResourceKey): Resource | undefined

  /**
   * Whether an object that is missing from `list(kind)` was deleted: undefined while the list may be incomplete (a file
   * does not parse, a watch is stale). The identity changes when the kind itself was replaced, which deletes no row.
   */
  completeList(kind: Kind): { identity: string } | undefined

  /**
   * Resolves when everything that happened before the call was received. A new leader has to know no less than the former
   * one, or it would sweep rows of resources that exist. Waits for an API server that does not answer.
   */
  catchUp?(): Promise<void>

  /**
   * The identity of a kind, also while its list is incomplete; a different text while the kind is being deleted, and its
   * objects with it. Undefined while it is unknown.
   */
  identity?(kind: Kind): string | undefined

  /**
   * Checks now whether an object that is being deleted was deleted itself, and not with its kind. Rejects when that
   * cannot be determined. Absent where kinds cannot be deleted.
   */
  isOwnDeletion?(resource: Resource): Promise<boolean>

  /**
   * Labels of a namespace, for `allowedNamespaces.selector`; undefined when it does not exist, `unknown` while
   * namespaces cannot be read.
   */
  namespaceLabels(namespace: string): Record<string, string> | 'unknown' | undefined

  /**
   * Writes the operator's part of status and nothing else: sets the named conditions, replaces the members in `fields`,
   * drops the entries of `status.approvals` by the approvers in `removeApprovals`. Sends nothing when nothing would
   * change. Rejects with ResourceConflict when the object was deleted or replaced (uid).
   */
  writeStatus(key: ResourceKey, uid: string, patch: StatusPatch): Promise<void>

  /** Adds or removes the operator's finalizer. An object that is being deleted disappears with its last finalizer. */
  setFinalizer(key: ResourceKey, uid: string, present: boolean): Promise<void>

  /** Records a Kubernetes Event on the object; a source without Events writes a log line. Never throws. */
  recordEvent(key: EventObject, event: ResourceEvent): void

  readonly secrets: SecretAccess
}

/** What an Event is about. */
export interface EventObject extends SecretName {
  kind: Kind | 'Secret'
}

export interface SecretName {
  namespace: string
  name: string
}

/** Identifies one state of one Secret, so that the Secret is read again only after a change. */
export interface SecretVersion {
  uid: string
  resourceVersion: string
}

/** A Secret with its bytes. Never log one, never put one into an error. */
export interface Secret extends SecretName {
  version: SecretVersion
  labels: Record<string, string>
  annotations: Record<string, string>
  /** uid of the entry of `metadata.ownerReferences` with `controller: true`. */
  controllerUid?: string
  /** Field managers other than the operator that own something under `data`. */
  foreignManagers: string[]
  data: Record<string, Buffer>
}

/** The wanted state of a Secret that the operator writes. */
export interface DesiredSecret extends SecretName {
  labels: Record<string, string>
  annotations?: Record<string, string>
  /** The owner, with which the Secret is deleted. Keyrings have none. */
  controller?: Resource
  data: Record<string, Buffer>
}

export interface SecretAccess {
  /** The version as last received, without reading the bytes; undefined when there is no such Secret. */
  version(name: SecretName): SecretVersion | undefined
  /** Reads the bytes now. Undefined when there is no such Secret. */
  read(name: SecretName): Promise<Secret | undefined>
  /** Rejects with ResourceConflict when a Secret of that name exists. */
  create(secret: DesiredSecret): Promise<SecretVersion>
  /** Replaces data, labels and annotations. Rejects with ResourceConflict when `version` is not the present one. */
  update(secret: DesiredSecret, version: SecretVersion): Promise<SecretVersion>
  /** Succeeds also when there is no such Secret. */
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

/** The object was deleted, replaced or changed since it was read. Read it and decide again. */
export class ResourceConflict extends Error {
  override readonly name = 'ResourceConflict'
}
