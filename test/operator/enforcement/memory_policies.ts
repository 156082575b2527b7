import type { PolicyAccess, PolicyObject, TrialOutcome } from '../../../operator/enforcement/policy_access.ts'
import { NoAnswer } from '../../../operator/enforcement/policy_access.ts'
import { textOf } from '../../../operator/enforcement/shipped_policies.ts'
import type { RoleAssignmentResource } from '../../../operator/view/resource_types.ts'
import { DECISIONS, installed } from './shipped.ts'

/** An API server as far as approval hangs on it, for a test to change in any way. */
export interface MemoryPolicies extends PolicyAccess {
  objects: Map<string, PolicyObject>
  assignments: RoleAssignmentResource[]
  /** In place of a refusal by the policy on decisions. */
  trial: TrialOutcome | undefined
  isSilent: boolean
  /** Names of the calls, in their order. */
  calls: string[]
  /** As a watch would tell. */
  change(): void
  /** Policies and bindings as from a new installation: the same content, other uids. */
  reinstall(): void
}

export function memoryPolicies(): MemoryPolicies {
  const listeners = new Set<() => void>()
  let installations = 0

  function called(name: string): void {
    memory.calls.push(name)
    if (memory.isSilent) throw new NoAnswer('connection refused')
  }

  const memory: MemoryPolicies = {
    objects: installed(),
    assignments: [],
    trial: undefined,
    isSilent: false,
    calls: [],
    change() {
      for (const listener of listeners) listener()
    },
    reinstall() {
      installations++
      for (const { kind, metadata } of memory.objects.values()) {
        if (kind !== 'CustomResourceDefinition') metadata.uid = `${metadata.uid}-${installations}`
      }
    },
    async read(name) {
      called('read')
      return structuredClone(memory.objects.get(textOf(name)))
    },
    async tryToApprove() {
      called('try')
      if (memory.trial) return memory.trial
      const isThere = memory.assignments.some(({ metadata }) => metadata.deletionTimestamp === undefined)
      return isThere ? { result: 'refused', policy: DECISIONS } : { result: 'none' }
    },
    async listAssignments() {
      called('list')
      return structuredClone(memory.assignments)
    },
    async readAssignment({ name }) {
      called('readAssignment')
      return structuredClone(memory.assignments.find(({ metadata }) => metadata.name === name))
    },
    watch(changed) {
      listeners.add(changed)
      return async () => void listeners.delete(changed)
    },
  }
  return memory
}

/** A RoleAssignment that asks for `reader`, with entries by these approvers on what it is now. */
export function assignmentWith(
  approvers: readonly string[],
  metadata: Partial<RoleAssignmentResource['metadata']> = {},
): RoleAssignmentResource {
  const { uid = 'uid-1', generation = 1 } = metadata
  return {
    apiVersion: 'realmkeeper.io/v1alpha1',
    kind: 'RoleAssignment',
    metadata: {
      name: 'first',
      namespace: 'acme',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
      uid,
      generation,
    },
    spec: {
      realmRef: { name: 'acme' },
      subject: { kind: 'Group', name: 'default-roles-acme' },
      roles: ['reader'],
      requestedBy: 'carol',
    },
    status: {
      approvals: approvers.map((approver) => ({
        approver,
        decision: 'Approved',
        observedGeneration: generation,
        observedUID: uid,
      })),
    },
  }
}
