import type { Manifest } from './operator_under_test.ts'

const API_VERSION = 'realmkeeper.io/v1alpha1'

/** Cheap hashing, for tests of other things. */
export const CHEAP_HASHING = { memoryKiB: 1024, iterations: 1, parallelism: 1 }

export function realm(name = 'shop', spec: object = {}, metadata: object = {}): Manifest {
  return object(
    'Realm',
    name,
    { passwordHashing: CHEAP_HASHING, tokens: { signingAlgorithm: 'ES256' }, ...spec },
    metadata,
  )
}

export function client(name: string, spec: object = {}, metadata: object = {}): Manifest {
  return object('Client', name, { realmRef: { name: 'shop' }, clientId: name, ...spec }, metadata)
}

export function user(name: string, spec: object = {}, metadata: object = {}): Manifest {
  const passwordSecretRef = { name: `${name}-password` }
  return object('User', name, { realmRef: { name: 'shop' }, username: name, passwordSecretRef, ...spec }, metadata)
}

export function secret(name: string, stringData: Record<string, string>, metadata: object = {}): Manifest {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'default', ...metadata, name }, stringData }
}

export function password(userName: string, value = `${userName}-password-1`): Manifest {
  return secret(`${userName}-password`, { password: value })
}

export function namespace(name: string, labels: Record<string, string> = {}): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
}

function object(kind: string, name: string, spec: object, metadata: object): Manifest {
  return { apiVersion: API_VERSION, kind, metadata: { namespace: 'default', ...metadata, name }, spec }
}

export function assignment(name: string, userName: string, roles: string[], spec: object = {}): Manifest {
  const subject = { kind: 'User', name: userName }
  return object(
    'RoleAssignment',
    name,
    { realmRef: { name: 'shop' }, subject, roles, requestedBy: 'team', ...spec },
    {},
  )
}
