import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Account, Answer } from '../support/control_plane/account.ts'
import { startControlPlane, untilServed } from '../support/control_plane.ts'
import type { ControlPlane } from '../support/control_plane.ts'
import { ROOT } from '../support/source_files.ts'
import { bindInWorld, installRbac } from './rbac.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- objects of the API server; tests read any member
export type Stored = any

export const API = '/apis/realmkeeper.io/v1alpha1'

/** An API server with the accounts and rights of rbac.ts and without policies. */
export interface Cluster {
  plane: ControlPlane
  admin: Account
  /** An account of `rbac.ts`; Greg is in the group `platform`. */
  who: (name: string) => Account
  stop(): Promise<void>
}

/** A pair of namespaces: `home` has the Realms `acme` and `globex`, `away` has assignments in the realms of `home`. */
export interface World {
  cluster: Cluster
  home: string
  away: string
  /** Of its namespaces, for policy bindings. */
  labels: Record<string, string>
  who: (name: string) => Account
  /** A new request by Carol for Alice, submitted by GitOps. */
  request(overrides?: { namespace?: string; realm?: string; spec?: object; metadata?: object }): Promise<Stored>
}

export interface ClusterVersions {
  /** Of the API server. */
  kubernetes?: 'newest' | 'oldest'
  /** With which accounts other than the administrator read and write. Default: v1alpha1. */
  served?: 'v1alpha1' | 'v1beta1'
}

export async function startCluster({
  kubernetes = 'newest',
  served = 'v1alpha1',
}: ClusterVersions = {}): Promise<Cluster> {
  const plane = await startControlPlane({ kubernetes })
  try {
    await serveLaxVersion(plane.admin)
    await installRbac(plane.admin)
    const accounts = new Map<string, Account>([
      ['gitops', await plane.serviceAccount('default', 'gitops')],
      ['operator', await plane.serviceAccount('default', 'operator')],
      ['collector', await plane.serviceAccount('kube-system', 'generic-garbage-collector')],
    ])
    return {
      plane,
      admin: plane.admin,
      who(name) {
        const known = accounts.get(name) ?? plane.user(name, name === 'greg' ? ['platform'] : [])
        accounts.set(name, known)
        return served === 'v1alpha1' ? known : throughVersion(known, served)
      },
      stop: () => plane.stop(),
    }
  } catch (error) {
    await plane.stop()
    throw error
  }
}

/** The account, whose calls of v1alpha1 become calls of another version. */
export function throughVersion(account: Account, version: string): Account {
  const path = (given: string): string => given.replace(API, `/apis/realmkeeper.io/${version}`)
  const body = (given: unknown): unknown => {
    const { apiVersion } = Object(given)
    if (apiVersion !== 'realmkeeper.io/v1alpha1') return given
    return { ...Object(given), apiVersion: `realmkeeper.io/${version}` }
  }
  return {
    ...account,
    call: (method, to, given, options) => account.call(method, path(to), body(given), options),
    do: (method, to, given, options) => account.do(method, path(to), body(given), options),
  }
}

let requests = 0

/** Creates a pair of namespaces with labels for policy bindings. */
export async function makeWorld(cluster: Cluster, id: string, labels: Record<string, string> = {}): Promise<World> {
  const { admin, who } = cluster
  const [home, away] = [`${id}-home`, `${id}-away`]
  for (const name of [home, away]) await admin.do('POST', '/api/v1/namespaces', { metadata: { name, labels } })
  await bindInWorld(admin, { home, away })
  for (const name of ['acme', 'globex']) await admin.do('POST', `${API}/namespaces/${home}/realms`, realm(name))

  return {
    cluster,
    home,
    away,
    labels,
    who,
    async request({ namespace = home, realm = 'acme', spec = {}, metadata = {} } = {}) {
      const body = assignment(`request-${++requests}`, {
        realmRef: namespace === home ? { name: realm } : { name: realm, namespace: home },
        ...spec,
      })
      return who('gitops').do('POST', `${API}/namespaces/${namespace}/roleassignments`, {
        ...body,
        metadata: { ...body.metadata, ...metadata },
      })
    },
  }
}

export function realm(
  name: string,
  identityGovernance: object = { enabled: true, requiredApprovals: 2, extraApprovalForClaims: true },
): Stored {
  return {
    apiVersion: 'realmkeeper.io/v1alpha1',
    kind: 'Realm',
    metadata: { name },
    spec: { roles: [{ name: 'manager' }, { name: 'auditor' }], identityGovernance },
  }
}

export function assignment(name: string, spec: object = {}): Stored {
  return {
    apiVersion: 'realmkeeper.io/v1alpha1',
    kind: 'RoleAssignment',
    metadata: { name },
    spec: {
      realmRef: { name: 'acme' },
      subject: { kind: 'User', name: 'alice' },
      roles: ['manager'],
      requestedBy: 'carol',
      ...spec,
    },
  }
}

/**
 * Adds a version that a later release or an edit of the CRD might serve: without a status subresource, and with a
 * schema that admits everything.
 */
export async function serveLaxVersion(admin: Account): Promise<void> {
  const crd = parse(readFileSync(join(ROOT, 'crds/roleassignments.yaml'), 'utf8'))
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const lax = { name: 'v1lax', served: true, storage: false, schema: { openAPIV3Schema: open } }
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`
  const versions = [...crd.spec.versions, lax]
  const patched = await admin.do('PATCH', path, { spec: { versions } }, { contentType: 'application/merge-patch+json' })
  if (patched.spec.versions.length !== versions.length) throw new Error('the lax version was not taken')
  await untilServed(admin, '/apis/realmkeeper.io/v1lax/roleassignments')
}

/** Status and message of a refusal, or `passes`. */
export function verdict({ status, body }: Answer): string {
  return status < 300 ? 'passes' : `${status} ${body.message}`
}
