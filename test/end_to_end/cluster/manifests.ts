import { recordSecrets } from '../../support/canary.ts'
import { APPLY_PATCH } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace: string }
  [member: string]: unknown
}

const IN_QUICKSTART = { realmRef: { name: 'quickstart' } }

/** A resource of the product, in the namespace of the quickstart. */
export function resource(kind: string, name: string, spec: object): Manifest {
  const metadata = { name, namespace: 'quickstart' }
  return { apiVersion: 'realmkeeper.io/v1alpha1', kind, metadata, spec: { ...IN_QUICKSTART, ...spec } }
}

export function secret(name: string, data: Record<string, string>): Manifest {
  recordSecrets(...Object.values(data))
  const entries = Object.entries(data).map(([entry, text]) => [entry, Buffer.from(text).toString('base64')])
  const metadata = { name, namespace: 'quickstart' }
  return { apiVersion: 'v1', kind: 'Secret', metadata, data: Object.fromEntries(entries) }
}

/** A User with the password `<name>-password`, and the Secret of the same name with that password. */
export function userWithPassword(name: string, spec: object = {}): Manifest[] {
  return [
    secret(name, { password: `${name}-password` }),
    resource('User', name, { username: name, passwordSecretRef: { name }, ...spec }),
  ]
}

/** The path of an object in the namespace of the quickstart. */
export function pathOf({ kind, metadata }: Pick<Manifest, 'kind' | 'metadata'>): string {
  const group = kind === 'Secret' ? '/api/v1' : '/apis/realmkeeper.io/v1alpha1'
  return `${group}/namespaces/quickstart/${kind.toLowerCase()}s/${metadata.name}`
}

/** Applies them together, as a GitOps controller does. */
export async function applyAll(as: Account, manifests: Manifest[]): Promise<void> {
  const query = 'fieldManager=gitops&force=true'
  await Promise.all(
    manifests.map((manifest) => as.do('PATCH', `${pathOf(manifest)}?${query}`, manifest, { contentType: APPLY_PATCH })),
  )
}
