import { writeFileSync } from 'node:fs'
import { presentBinaries } from '../scripts/control_plane.ts'
import { giveRights, KEYRING_NAMESPACE } from '../test/end_to_end/cluster/rights.ts'
import { realmkeeper } from '../test/support/command.ts'
import type { Account } from '../test/support/control_plane/account.ts'
import { startWithBinaries } from '../test/support/control_plane/start.ts'
import type { ControlPlane } from '../test/support/control_plane/start.ts'

export const API = '/apis/realmkeeper.io/v1beta1/namespaces/bench'
export const SECRETS = '/api/v1/namespaces/bench/secrets'

/** Parallel calls, as many as the operator has workers for Users. */
export const LANES = 8

/** An API server with the CRDs, the policies, the namespace `bench`, and accounts for the processes. */
export interface BenchCluster {
  plane: ControlPlane
  /** kubeconfigs of the ServiceAccounts. */
  operator: string
  server: string
  licenseKeys: string
  issueLicense(realm: string): Promise<string>
  /**
   * The number of writes so far, by resource and subresource. Refused writes count; dry runs and writes of the Lease do
   * not.
   */
  writes(): Promise<Record<string, number>>
}

/** Whether the binaries of a control plane exist. Otherwise prints that `rows` are skipped. */
export function hasControlPlane(rows: string): boolean {
  const binaries = presentBinaries()
  const isThere = ['etcd', 'kube-apiserver', 'kubectl'].every((name) => name in binaries)
  if (!isThere) console.log(`${rows}: skipped, because there is no control plane; npm run control-plane builds one`)
  return isThere
}

/** Starts a control plane. Rejects if `hasControlPlane` is false. */
export async function startBenchCluster(directory: string): Promise<BenchCluster> {
  const plane = await startWithBinaries(presentBinaries())
  const { admin } = plane
  for (const name of [KEYRING_NAMESPACE, 'bench']) await admin.do('POST', '/api/v1/namespaces', { metadata: { name } })
  await giveRights(plane)
  await plane.kubectl(['apply', '-f', 'crds/policies'])

  const licenseKey = `${directory}/license_key-${process.hrtime.bigint()}.json`
  const licenseKeys = `${licenseKey}.public`
  writeFileSync(licenseKeys, (await realmkeeper(['license', 'new-key', licenseKey])).stdout)
  return {
    plane,
    operator: (await plane.serviceAccount(KEYRING_NAMESPACE, 'operator')).kubeconfig,
    server: (await plane.serviceAccount(KEYRING_NAMESPACE, 'server')).kubeconfig,
    licenseKeys,
    async issueLicense(realm) {
      return (await realmkeeper(['license', 'issue', `--realm=${realm}`, `--key=${licenseKey}`])).stdout.trim()
    },
    writes: () => countWrites(admin),
  }
}

const LINE = /^apiserver_request_total\{([^}]*)\} (\S+)$/gm
const VERBS = ['APPLY', 'PATCH', 'PUT', 'POST', 'DELETE']
const RESOURCES = ['realms', 'clients', 'users', 'roleassignments', 'secrets', 'events', 'roles']

async function countWrites(admin: Account): Promise<Record<string, number>> {
  // Metrics are text, which an account returns as the message.
  const { message } = await admin.do('GET', '/metrics')
  const counts: Record<string, number> = {}
  for (const [, labels = '', value] of String(message).matchAll(LINE)) {
    const label = (name: string): string => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? ''
    if (!VERBS.includes(label('verb')) || !RESOURCES.includes(label('resource')) || label('dry_run') !== '') continue
    const what = [label('resource'), label('subresource')].filter(Boolean).join('/')
    counts[what] = (counts[what] ?? 0) + Number(value)
  }
  return counts
}

/** Runs `work` for 0, 1, … `count` - 1, `lanes` at a time. */
export async function inLanes(count: number, work: (n: number) => Promise<unknown>, lanes = LANES): Promise<void> {
  let next = 0
  async function lane(): Promise<void> {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
