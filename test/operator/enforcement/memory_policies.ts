import type { PolicyAccess, PolicyObject, ProbeResult } from '../../../operator/enforcement/policy_access.ts'
import { NoAnswer } from '../../../operator/enforcement/policy_access.ts'
import { GOVERNANCE_POLICY } from '../../../operator/enforcement/realms/realm_proof.ts'
import { textOf } from '../../../operator/enforcement/release/shipped_set.ts'
import type { RealmResource, RoleAssignmentResource } from '../../../operator/view/resource_types.ts'
import { DECISIONS, installed } from './shipped.ts'

/** The objects of an API server that enforce approvals, for a test to change. */
export interface MemoryPolicies extends PolicyAccess {
  scope: PolicyAccess['scope']
  objects: Map<string, PolicyObject>
  assignments: RoleAssignmentResource[]
  realmObjects: RealmResource[]
  /** In place of a refusal by the policy on governance. */
  realmProbeResult: ProbeResult | undefined
  /** In place of a refusal by the policy on decisions. */
  probeResult: ProbeResult | undefined
  isUnreachable: boolean
  /** Names of the calls, in order. */
  calls: string[]
  /** Reports a watch event. */
  change(): void
  /** Replaces policies and bindings by equal ones with other uids. */
  reinstall(): void
}

export function memoryPolicies(): MemoryPolicies {
  const listeners = new Set<() => void>()
  let installations = 0

  function called(name: string): void {
    memory.calls.push(name)
    if (memory.isUnreachable) throw new NoAnswer('connection refused')
  }

  const memory: MemoryPolicies = {
    scope: null,
    objects: installed(),
    assignments: [],
    realmObjects: [],
    realmProbeResult: undefined,
    probeResult: undefined,
    isUnreachable: false,
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
    async probe() {
      called('probe')
      if (memory.probeResult) return memory.probeResult
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
    realms: {
      async list() {
        called('listRealms')
        return structuredClone(memory.realmObjects)
      },
      async read({ name }) {
        called('readRealm')
        return structuredClone(memory.realmObjects.find(({ metadata }) => metadata.name === name))
      },
      async probe() {
        called('probeRealm')
        return memory.realmProbeResult ?? { result: 'refused', policy: GOVERNANCE_POLICY }
      },
    },
    watch(changed) {
      listeners.add(changed)
      return async () => void listeners.delete(changed)
    },
  }
  return memory
}

/** A RoleAssignment for the role `reader` with approvals of its present generation. */
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
