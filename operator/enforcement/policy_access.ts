import type { RoleAssignmentResource } from '../view/resource_types.ts'

/** An object that approval hangs on, as the API server holds it now. */
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
 * Live looks at what holds approvers to the rules: nothing comes from a cache. Every method rejects with NoAnswer
 * where the API server does not answer the question (unreachable, overloaded, failing).
 */
export interface PolicyAccess {
  /** The object under a name; undefined when there is none. Rejects with MayNotLook when reading it is forbidden. */
  read(name: PolicyName): Promise<PolicyObject | undefined>

  /**
   * Has the operator itself write the condition `Approved` on an existing RoleAssignment that is not being deleted, as
   * a dry run. `none` when there is no such object.
   */
  tryToApprove(): Promise<TrialOutcome>

  /** Every RoleAssignment. */
  listAssignments(): Promise<RoleAssignmentResource[]>

  /** One RoleAssignment; undefined when there is none. */
  readAssignment(key: { namespace: string; name: string }): Promise<RoleAssignmentResource | undefined>

  /** Calls `changed` when a policy, a binding or the CRD may have changed; until the answer is called. */
  watch(changed: () => void): () => Promise<void>
}

export type TrialOutcome =
  | { result: 'none' }
  /** 403, by the policy of this name. */
  | { result: 'refused'; policy: string }
  /** Anything else; `why` is for people. */
  | { result: 'failed'; why: string }

/** The API server gave no answer that says anything about policies; ask again. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

/** The operator lacks the right to look. */
export class MayNotLook extends Error {
  override readonly name = 'MayNotLook'
}
