import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH } from '../support/control_plane/account.ts'
import type { Account, Answer } from '../support/control_plane/account.ts'
import { API } from './world.ts'
import type { Stored, World } from './world.ts'

const NOW = '2026-01-01T00:00:00Z'

/** A write that has to pass. A refused preparing step fails the test as well. */
export interface Legitimate {
  name: string
  run: (world: World) => Promise<Answer>
}

/** The path of an object. */
export function pathOf({ kind, metadata }: Stored, api: string = API): string {
  return `${api}/namespaces/${metadata.namespace}/${kind.toLowerCase()}s/${metadata.name}`
}

/** An entry of `status.approvals` for the uid and generation of the object. */
export function entry(of: Stored, approver: string, overrides: object = {}): Stored {
  const { generation, uid } = of.metadata
  return { approver, decision: 'Approved', observedGeneration: generation, observedUID: uid, ...overrides }
}

/** The condition Approved for the uid and generation of the object. */
export function condition(of: Stored, decidedBy: string, overrides: object = {}): Stored {
  const { generation, uid } = of.metadata
  return {
    type: 'Approved',
    status: 'True',
    reason: 'Reviewed',
    lastTransitionTime: NOW,
    observedGeneration: generation,
    observedUID: uid,
    decidedBy,
    ...overrides,
  }
}

export function ready(of: Stored, overrides: object = {}): Stored {
  const observedGeneration = of.metadata.generation
  const times = { lastTransitionTime: NOW, observedGeneration }
  return { type: 'Ready', status: 'False', reason: 'PendingApproval', message: 'waits', ...times, ...overrides }
}

/** `kubectl patch --subresource=status --type=merge`: lists are replaced as a whole. */
export function mergeStatus(who: Account, of: Stored, status: object | null): Promise<Answer> {
  return who.call('PATCH', `${pathOf(of)}/status`, { status }, { contentType: MERGE_PATCH })
}

/** `kubectl patch --subresource=status --type=json` */
export function jsonStatus(who: Account, of: Stored, operations: object[]): Promise<Answer> {
  return who.call('PATCH', `${pathOf(of)}/status`, operations, { contentType: JSON_PATCH })
}

/** `kubectl apply --server-side --subresource=status`, under the account's own field manager. */
export function applyStatus(
  who: Account,
  of: Stored,
  status: object,
  manager = `of-${who.name}`,
  force = false,
): Promise<Answer> {
  const { apiVersion, kind, metadata } = of
  const body = { apiVersion, kind, metadata: { name: metadata.name }, status }
  const path = `${pathOf(of)}/status?fieldManager=${encodeURIComponent(manager)}&force=${force}`
  return who.call('PATCH', path, body, { contentType: APPLY_PATCH })
}

/** `kubectl replace --subresource=status` */
export function putStatus(who: Account, of: Stored, status: object): Promise<Answer> {
  return who.call('PUT', `${pathOf(of)}/status`, { ...of, status })
}

/** `kubectl patch --type=merge` on the object itself. */
export function merge(who: Account, of: Stored, body: object): Promise<Answer> {
  return who.call('PATCH', pathOf(of), body, { contentType: MERGE_PATCH })
}

/** The object itself through the version without a status subresource. */
export function mergeLax(who: Account, of: Stored, body: object): Promise<Answer> {
  return who.call('PATCH', pathOf(of, '/apis/realmkeeper.io/v1lax'), body, { contentType: MERGE_PATCH })
}

export async function read(who: Account, of: Stored): Promise<Stored> {
  return who.do('GET', pathOf(of))
}
