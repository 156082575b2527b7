import type { RealmResource, RoleAssignmentResource } from '../view/resource_types.ts'
import type { Scope } from './scope.ts'

/** An object that enforces approvals, as the API server holds it. */
export interface PolicyObject {
  kind: PolicyKind
  metadata: { name: string; uid: string; generation: number; deletionTimestamp?: string }
  spec: unknown
}

export type PolicyKind = 'ValidatingAdmissionPolicy' | 'ValidatingAdmissionPolicyBinding' | 'CustomResourceDefinition'

export interface PolicyName {
  kind: PolicyKind
  name: string
}

/**
 * Live reads, without a cache, of everything that the enforcement check needs. Every method rejects with NoAnswer when
 * the API server is unreachable, overloaded or failing.
 */
export interface PolicyAccess {
  readonly scope: Scope

  /** Undefined when there is no such object. Rejects with ReadForbidden when the operator lacks the right. */
  read(name: PolicyName): Promise<PolicyObject | undefined>

  /**
   * Writes the condition `Approved` on an existing RoleAssignment that is not being deleted, as the operator and with
   * `dryRun=All`. `none` when there is no such RoleAssignment.
   */
  probe(): Promise<ProbeResult>

  listAssignments(): Promise<RoleAssignmentResource[]>

  /** Undefined when there is no such RoleAssignment. */
  readAssignment(key: { namespace: string; name: string }): Promise<RoleAssignmentResource | undefined>

  readonly realms: RealmAccess

  /** Calls `changed` when a policy, a binding or the CRD may have changed. Returns what stops the watch. */
  watch(changed: () => void): () => Promise<void>
}

/** Live reads of Realms, without a cache. Every method rejects with NoAnswer as those of PolicyAccess do. */
export interface RealmAccess {
  list(): Promise<RealmResource[]>

  /** Undefined when there is no such Realm. */
  read(key: { namespace: string; name: string }): Promise<RealmResource | undefined>

  /** Confirms the governance of the present version of the Realm, as the operator and with `dryRun=All`. */
  probe(realm: RealmResource): Promise<ProbeResult>
}

export type ProbeResult =
  | { result: 'none' }
  /** 403 by the policy of this name. */
  | { result: 'refused'; policy: string }
  | { result: 'failed'; why: string }

/** The API server gave no answer about policies; the check has to be repeated. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

/** The operator lacks the right to read a policy, binding or CRD. */
export class ReadForbidden extends Error {
  override readonly name = 'ReadForbidden'
}
