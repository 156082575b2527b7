import type { Logger } from 'pino'
import { createApiClient } from '../../kubernetes/api_client.ts'
import { callRate } from '../../kubernetes/call_rate.ts'
import { isStatus } from '../../kubernetes/api_error.ts'
import type { CountCall } from '../../kubernetes/call_counter.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { kubeconfigAccess } from '../../kubernetes/kubeconfig_access.ts'
import type { OperatorConfig } from '../../process/settings.ts'
import { clusterPolicyAccess } from '../enforcement/cluster_policy_access.ts'
import { enforcementCheck } from '../enforcement/enforcement_check.ts'
import { runElection } from '../leadership/leader_election.ts'
import type { Election } from '../leadership/leader_election.ts'
import { leaseClient } from '../leadership/lease_client.ts'
import type { LeaseClient } from '../leadership/lease_client.ts'
import { keyringRole, withReadableKeyrings } from '../realm/keyring/keyring_role.ts'
import { clusterSource, onlyWhile } from './cluster/cluster_source.ts'
import type { Origin } from './origin.ts'

export interface ClusterSurroundings {
  /** Names this process, in the Lease and in Events. */
  holder: string
  log: Logger
  now: () => Date
  clock: Clock
  random: () => number
  countCall?: CountCall
}

/** A late answer about the Lease is worthless, because the Lease decides whether the other calls may write. */
const LEASE_TIMEOUT_MILLIS = 5_000

/**
 * The resources of a cluster, and what depends on its API server: the Lease of the election, the Role that lets servers
 * read keyrings, and the admission policies that check approvals. @throws ApiAccessError
 */
export function onCluster(config: OperatorConfig, surroundings: ClusterSurroundings): Origin {
  const { keyringNamespace, leaseName: name, leaseNamespace = keyringNamespace } = config
  const namespaces = config.watchNamespaces.length > 0 ? config.watchNamespaces : undefined
  const { holder, log, now, clock, random, countCall } = surroundings
  const access = kubeconfigAccess({ file: config.kubeconfig })

  let election: Election | undefined
  /** Etcd was restored from a backup since the last check of the admission policies began. */
  let isRestored = false
  const beforeWrite = onlyWhile(() => election?.isLeading() === true)
  const { apiRequestsPerSecond } = config
  const awaitTurn = apiRequestsPerSecond > 0 ? callRate(apiRequestsPerSecond, clock) : undefined
  const client = createApiClient({ access, beforeWrite, clock, countCall, awaitTurn })
  // Calls about the Lease do not wait for their turn: a late renewal ends the term.
  const leaseCalls = createApiClient({ access, clock, countCall, timeoutMillis: LEASE_TIMEOUT_MILLIS })
  const source = clusterSource({
    client,
    namespaces,
    keyringNamespace,
    instance: holder,
    clock,
    now,
    random,
    log,
    timings: { stallMillis: config.watchStallSeconds * 1_000 },
    // A new term lists, reads the rows, sweeps and reconciles everything, and checks the admission policies.
    onRestored(isListing) {
      isRestored = true
      if (!isListing) election?.endTerm()
    },
  })
  const lease = observedLease(leaseClient(leaseCalls, { namespace: leaseNamespace, name }), () => source.retryNow())
  const role = keyringRole({ client, namespace: keyringNamespace, clock, log })
  const secrets = withReadableKeyrings(source.secrets, role, keyringNamespace)

  return {
    source,
    secrets: () => secrets,
    elect(runTerm) {
      const onRestored = (): void => {
        isRestored = true
      }
      election = runElection({ lease, holder, clock, now, random, log, onRestored }, runTerm)
      return election
    },
    problem: () => lease.problem() ?? source.problem(),
    watches: () => source.watches(),
    mayBeAway: true,
    enforcementCheck: () =>
      enforcementCheck({
        access: clusterPolicyAccess({ client, namespaces, clock, random, log }),
        required: config.requireApprovalEnforcement,
        trustExisting: config.trustExistingDecisions,
        wasRestored() {
          const was = isRestored
          isRestored = false
          return was
        },
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

interface ObservedLease extends LeaseClient {
  /** Why this process can never lead as configured, for people. */
  problem(): string | undefined
}

/** The election calls every two seconds, so it is the first to notice that the API server answers again. */
function observedLease(lease: LeaseClient, answersAgain: () => void): ObservedLease {
  let isUnreachable = false
  let problem: string | undefined

  async function observe<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      const result = await call()
      if (isUnreachable) answersAgain()
      isUnreachable = false
      problem = undefined
      return result
    } catch (error) {
      const isRefused = isStatus(error, 403, 404)
      isUnreachable = !isRefused
      problem = isRefused
        ? 'the Lease cannot be read or written, so this process cannot lead; the log of this process has the cause'
        : undefined
      throw error
    }
  }

  return {
    problem: () => problem,
    read: () => observe(() => lease.read()),
    write: (record, before) => observe(() => lease.write(record, before)),
  }
}
