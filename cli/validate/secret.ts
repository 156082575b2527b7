import { KEYRING_LABEL } from '../../keyring/keyring.ts'
import { isObject } from '../../crds/validation/defaulting.ts'
import type { Manifest } from './manifest.ts'

/** A Secret that the manifests create. Its values are checked and never printed. */
export interface KnownSecret {
  namespace: string
  name: string
  keyring: boolean
  /** Undefined when another resource creates the Secret (ExternalSecret, SealedSecret). */
  values?: Map<string, Buffer>
}

export function isSecret({ apiVersion, kind }: Pick<Manifest, 'apiVersion' | 'kind'>): boolean {
  return apiVersion === 'v1' && kind === 'Secret'
}

/** The Secret that a manifest is or that its kind is known to create; undefined for other kinds. */
export function secretOf({ apiVersion, kind, namespace, name, object }: Manifest): KnownSecret | undefined {
  const group = apiVersion.split('/')[0]
  if (isSecret({ apiVersion, kind })) {
    return { namespace, name, keyring: isKeyring(object), values: valuesOf(object) }
  }
  if (group === 'bitnami.com' && kind === 'SealedSecret') return { namespace, name, keyring: false }
  if (group === 'external-secrets.io' && kind === 'ExternalSecret') {
    const target = member(member(object, 'spec'), 'target')['name']
    return { namespace, name: typeof target === 'string' ? target : name, keyring: false }
  }
  return undefined
}

function valuesOf(object: Record<string, unknown>): Map<string, Buffer> {
  const values = new Map<string, Buffer>()
  for (const [key, value] of Object.entries(member(object, 'data'))) {
    if (typeof value === 'string') values.set(key, Buffer.from(value, 'base64'))
  }
  for (const [key, value] of Object.entries(member(object, 'stringData'))) {
    if (typeof value === 'string') values.set(key, Buffer.from(value, 'utf8'))
  }
  return values
}

function isKeyring(object: Record<string, unknown>): boolean {
  return member(member(object, 'metadata'), 'labels')[KEYRING_LABEL] !== undefined
}

function member(object: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = object[name]
  return isObject(value) ? value : {}
}
