import type { KubeConfig } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import type { OperatorConfig } from '../../process/settings.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { enforcementCheck } from '../enforcement/enforcement_check.ts'
import { clusterPolicyAccess } from '../enforcement/cluster_policy_access.ts'
import { keyringRole, withReadableKeyrings } from '../realm/keyring/keyring_role.ts'
import { runElection } from '../leadership/leader_election.ts'
import type { Election } from '../leadership/leader_election.ts'
import { leaseClient } from '../leadership/lease_client.ts'
import type { LeaseClient } from '../leadership/lease_client.ts'
import type { Origin } from './origin.ts'
import { createApiClient } from './cluster/api_client.ts'
import { isStatus } from './cluster/api_error.ts'
import { clusterSource } from './cluster/cluster_source.ts'
import { loadKubeConfig } from './cluster/kube_config.ts'

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
  const lease = noticing(leaseClient(leaseCalls, { namespace: leaseNamespace, name }), () => source.hurry())
  const role = keyringRole({ client, namespace: keyringNamespace, clock, log })

  const secrets = withReadableKeyrings(source.secrets, role, keyringNamespace)

  return {
    source,
    secrets: () => secrets,
    elect(runTerm) {
      election = runElection({ lease, holder, clock, now, random, log }, runTerm)
      return election
    },
    problem: () => lease.problem() ?? source.problem(),
    mayBeAway: true,
    watchApprovals: () =>
      enforcementCheck({
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

interface NoticingLease extends LeaseClient {
  /** Why this process can never lead as things stand, for people. */
  problem(): string | undefined
}

/** The Lease is asked for all the time, so the end of an outage is seen here first. */
function noticing(lease: LeaseClient, returned: () => void): NoticingLease {
  let isAway = false
  let problem: string | undefined

  async function notice<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      const result = await call()
      if (isAway) returned()
      isAway = false
      problem = undefined
      return result
    } catch (error) {
      // Another one leads, perhaps; this one would not when it ends.
      const isRefused = isStatus(error, 403, 404)
      isAway = !isRefused
      problem = isRefused ? `the Lease cannot be had, so this process does not lead: ${error.message}` : undefined
      throw error
    }
  }

  return {
    problem: () => problem,
    read: () => notice(() => lease.read()),
    write: (record, before) => notice(() => lease.write(record, before)),
  }
}
