import { beforeEach, expect, test } from 'vitest'
import type { ApprovalEnforcement } from '../../../operator/enforcement/approval_enforcement.ts'
import { markUnproven } from '../../../operator/enforcement/mark_unproven.ts'
import { markUnprovenSpecs } from '../../../operator/enforcement/unproven_specs.ts'
import { roleAssignmentReconciler } from '../../../operator/role_assignment/reconciler.ts'
import type { RealmResource } from '../../../operator/view/resource_types.ts'
import { storeAccess } from '../../../operator/rows/store_access.ts'
import type { StoreAccess } from '../../../operator/rows/store_access.ts'
import type { View } from '../../../operator/view/view.ts'
import { listDecisions } from '../../../store/operator/decisions.ts'
import { takeEpoch } from '../../../store/operator/epoch.ts'
import { findGrantedRoles } from '../../../store/role_assignments.ts'
import { testDatabase } from '../../support/postgres.ts'
import { assignmentWith } from './memory_policies.ts'

let store: StoreAccess

beforeEach(async () => {
  const database = await testDatabase()
  const epoch = await takeEpoch(database.pool, 'test')
  store = storeAccess({ pool: database.pool, epoch, now: () => new Date(), auditWriter: 'operator/test' })
  return () => database.drop()
})

const REALM: RealmResource = {
  apiVersion: 'realmkeeper.io/v1alpha1',
  kind: 'Realm',
  metadata: {
    name: 'acme',
    namespace: 'acme',
    uid: 'realm-1',
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members that a RoleAssignment needs
  spec: {
    roles: [{ name: 'reader' }],
    identityGovernance: { enabled: true, requiredApprovals: 1 },
  } as RealmResource['spec'],
}

const VIEW: View = {
  realmFor: () => ({ admitted: true, name: 'acme', uid: 'realm-1', resource: REALM }),
  find: () => undefined,
  holderOf: () => undefined,
  knownAs: () => [],
  subjectOf: () => undefined,
  covers: () => true,
  isRecreated: () => false,
}

const ENFORCED: ApprovalEnforcement = {
  mode: 'enforced',
  required: true,
  reason: 'Enforced',
  message: '',
  statusTrusted: true,
  prove: async () => ENFORCED,
  proveRealm: async () => undefined,
}

test('a reconcile that began before decisions were marked unproven does not record them', async () => {
  const resource = assignmentWith(['forged'])
  const reconcile = (enforcement: ApprovalEnforcement) =>
    roleAssignmentReconciler({ store, approvalEnforcement: () => enforcement }).reconcile(resource, VIEW)

  const late: ApprovalEnforcement = {
    ...ENFORCED,
    async prove() {
      expect(await markUnproven(store, resource)).toEqual(['forged'])
      return ENFORCED
    },
  }
  await expect(reconcile(late)).rejects.toThrow('its row changed since it was read')
  expect(await listDecisions(store.db, 'uid-1')).toEqual([])

  const { conditions } = await reconcile(ENFORCED)
  expect(conditions).toEqual([expect.objectContaining({ type: 'Ready', reason: 'DecisionUnproven' })])
  expect(await listDecisions(store.db, 'uid-1')).toEqual([])
})

test('a reconcile that read its spec before the gap ended does not take it as proven', async () => {
  const resource = assignmentWith(['forged'])
  const late: ApprovalEnforcement = {
    ...ENFORCED,
    async prove() {
      expect(await markUnprovenSpecs(store, { live: [resource], cached: [] })).toBe(1)
      return ENFORCED
    },
  }
  const reconciler = roleAssignmentReconciler({ store, approvalEnforcement: () => late })
  const { conditions } = await reconciler.reconcile(resource, VIEW)
  expect(conditions).toEqual([expect.objectContaining({ type: 'Ready', reason: 'DecisionUnproven' })])
  expect(await listDecisions(store.db, 'uid-1')).toEqual([])
})

test('a spec is proven by a check that begins after it was read, once', async () => {
  const resource = assignmentWith([])
  let proofs = 0
  const counting: ApprovalEnforcement = {
    ...ENFORCED,
    async prove() {
      proofs += 1
      return ENFORCED
    },
  }
  const reconciler = roleAssignmentReconciler({ store, approvalEnforcement: () => counting })
  await reconciler.reconcile(resource, VIEW)
  await reconciler.reconcile(resource, VIEW)
  expect(proofs).toBe(1)
  expect(await markUnprovenSpecs(store, { live: [resource], cached: [] })).toBe(0)
})

test('a live check precedes the record of a decision', async () => {
  const resource = assignmentWith(['ann'])
  const gap: ApprovalEnforcement = { ...ENFORCED, mode: 'gap', statusTrusted: false, prove: async () => gap }
  const stale: ApprovalEnforcement = { ...ENFORCED, prove: async () => gap }
  const reconcile = roleAssignmentReconciler({ store, approvalEnforcement: () => stale })
  const { conditions } = await reconcile.reconcile(resource, VIEW)
  expect(conditions).toEqual([expect.objectContaining({ type: 'Ready', reason: 'ApprovalNotEnforced' })])
  expect(await listDecisions(store.db, 'uid-1')).toEqual([])
})

test('a status that may replace a lost row waits for a check of the policies', async () => {
  const resource = assignmentWith([])
  resource.status = { granted: { generation: 1 } }
  const unchecked: ApprovalEnforcement = { ...ENFORCED, mode: 'unchecked', statusTrusted: false }
  const reconcile = roleAssignmentReconciler({ store, approvalEnforcement: () => unchecked })
  await expect(reconcile.reconcile(resource, VIEW)).rejects.toThrow(
    'the operator does not know yet whether it may trust status.granted',
  )
})

test('attack: a granted RoleAssignment that was deleted grants nothing when a restore of etcd brings it back', async () => {
  const reconciler = roleAssignmentReconciler({ store, approvalEnforcement: () => ENFORCED })
  const resource = assignmentWith(['ann'])
  const { conditions, fields } = await reconciler.reconcile(resource, VIEW)
  expect(conditions).toEqual([expect.objectContaining({ type: 'Ready', reason: 'Granted' })])
  await reconciler.finalize(resource, VIEW)

  const restored = { ...resource, status: { ...resource.status, ...fields } }
  expect(restored.status.granted?.serving?.roles).toEqual(['reader'])
  const after = await reconciler.reconcile(restored, VIEW)
  expect(after.conditions).toEqual([expect.objectContaining({ type: 'Ready', reason: 'DecisionUnproven' })])
  expect(await findGrantedRoles(store.db, 'acme', 'uid-1')).toEqual([])
})
