import type { KubeConfig } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import type { OperatorConfig } from '../process/settings.ts'
import type { Clock } from './clock.ts'
import { approvalWatch } from './enforcement/approval_watch.ts'
import { clusterPolicyAccess } from './enforcement/cluster_policy_access.ts'
import { keyringRole } from './keyring/keyring_role.ts'
import { runWhileLeading } from './leader_election.ts'
import type { Election } from './leader_election.ts'
import { leaseClient } from './lease/lease_client.ts'
import type { LeaseClient } from './lease/lease_client.ts'
import { withReadableKeyrings } from './keyring/readable_keyrings.ts'
import type { Origin } from './origin.ts'
import { createApiClient } from './source/cluster/api_client.ts'
import { clusterSource } from './source/cluster/cluster_source.ts'
import { loadKubeConfig } from './source/cluster/kube_config.ts'

export interface ClusterSurroundings {
  /** Names this process, in the Lease and in Events. */
  holder: string
  log: Logger
  now: () => Date
  clock: Clock
  random: () => number
}

const LEASE_CALL_MILLIS = 5_000

/**
 * The API server of a cluster: resources, Secrets, the Lease that says who writes, the Role that lets servers read
 * keyrings, and the policies that hold approvers to the rules. @throws KubeConfigError
 */
export function onCluster(config: OperatorConfig, surroundings: ClusterSurroundings): Origin {
  const { keyringNamespace, leaseName: name, leaseNamespace = keyringNamespace } = config
  const namespaces = config.watchNamespaces.length > 0 ? config.watchNamespaces : undefined
  const { holder, log, now, clock, random } = surroundings
  const connect = (): KubeConfig => loadKubeConfig({ file: config.kubeconfig })
  // What is wrong with it is said at once.
  connect()

  let election: Election | undefined
  const mayWrite = (): boolean => election?.isLeading() === true
  const source = clusterSource({
    connect,
    namespaces,
    keyringNamespace,
    mayWrite,
    instance: holder,
    clock,
    now,
    random,
    log,
  })
  const client = createApiClient({ connect, mayWrite, clock })
  // The Lease is what says whether the others may write; an answer that is late is worth nothing.
  const leaseCalls = createApiClient({ connect, mayWrite: () => true, clock, timeoutMillis: LEASE_CALL_MILLIS })
  const lease = noticingReturns(leaseClient(leaseCalls, { namespace: leaseNamespace, name }), () => source.hurry())
  const role = keyringRole({ client, namespace: keyringNamespace, monotonic: () => clock.now(), log })

  const secrets = withReadableKeyrings(source.secrets, role, keyringNamespace)

  return {
    source,
    secrets: () => secrets,
    elect(lead) {
      election = runWhileLeading({ lease, holder, clock, now, random, log }, lead)
      return election
    },
    problem: () => source.problem(),
    mayBeAway: true,
    watchApprovals: () =>
      approvalWatch({
        access: clusterPolicyAccess({ client, namespaces, clock, random, log }),
        required: config.requireApprovalEnforcement,
        trustExisting: config.trustExistingDecisions,
        clock,
        log,
      }),
    keyringRole: role,
    close() {
      client.close()
      leaseCalls.close()
    },
  }
}

/** The Lease is asked for all the time, so the end of an outage is seen here first. */
function noticingReturns(lease: LeaseClient, returned: () => void): LeaseClient {
  let isAway = false
  return {
    ...lease,
    async read() {
      try {
        const stored = await lease.read()
        if (isAway) returned()
        isAway = false
        return stored
      } catch (error) {
        isAway = true
        throw error
      }
    },
  }
}
