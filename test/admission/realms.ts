import type { Account, Answer } from '../support/control_plane/account.ts'
import { API, realm } from './world.ts'
import type { Stored, World } from './world.ts'
import { merge } from './writes.ts'

/** An owner that does not exist: the garbage collector deletes what has no other owner. */
export const OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'e1e1e1e1-0000-4000-8000-000000000000' }

let realms = 0

/** A Realm of its own for each caller, labelled with its name. An approver creates it. */
export async function governedRealm(
  { who, home }: World,
  governance: object = { enabled: true, requiredApprovals: 2 },
  metadata: object = {},
): Promise<Stored> {
  const name = `governed-${++realms}`
  const body = { ...realm(name, governance), metadata: { name, labels: { name }, ...metadata } }
  return who('dora').do('POST', `${API}/namespaces/${home}/realms`, body)
}

/** The text that confirms the governance of a Realm as it is now. */
export function confirmation(
  { metadata }: Stored,
  { uid = metadata.uid, name = metadata.name }: { uid?: string; name?: string } = {},
): string {
  return `${uid}/${metadata.generation}/${metadata.namespace}/${name}`
}

export function confirm(who: Account, of: Stored, value: string | null): Promise<Answer> {
  return merge(who, of, { metadata: { annotations: { 'realmkeeper.io/confirm-governance': value } } })
}
