import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { isStatus } from '../../kubernetes/api_error.ts'
import { processClock } from '../../kubernetes/clock.ts'
import { runElection } from '../../operator/leadership/leader_election.ts'
import { leaseClient } from '../../operator/leadership/lease_client.ts'
import type { LeaseClient } from '../../operator/leadership/lease_client.ts'
import { createLog } from '../../process/log.ts'
import { PlainError } from '../../process/plain_error.ts'
import { printable } from '../../process/printable.ts'
import { refusalError } from '../cluster.ts'
import type { Cluster } from '../cluster.ts'

export interface LeaseOptions {
  namespace: string
  name: string
  /** How long to wait for an operator that leads. */
  waitSeconds: number
}

const HINT = ' (--lease-namespace names its namespace; --no-lease is for clusters without an operator)'

/**
 * Calls `work` while this process holds the operator's Lease, so that no operator writes meanwhile, and then releases the
 * Lease. `work` gets a function that throws as soon as another process may lead. Throws PlainError when an operator
 * still leads after the wait, and when the API server refuses the Lease.
 */
export async function asLeader<Result>(
  cluster: Cluster,
  { namespace, name, waitSeconds }: LeaseOptions,
  work: (mayWrite: () => void) => Promise<Result>,
): Promise<Result> {
  const what = `Lease ${namespace}/${name}`
  const result = Promise.withResolvers<Result>()
  let holder: string | undefined
  let hasBegun = false

  const election = runElection(
    {
      lease: observed(leaseClient(cluster.client, { namespace, name })),
      holder: `realmkeeper-release-${hostname()}-${randomBytes(4).toString('hex')}`,
      clock: processClock,
      now: () => new Date(),
      random: Math.random,
      log: createLog({ name: 'release', level: 'error' }),
    },
    async (term) => {
      hasBegun = true
      await work(() => {
        if (!term.isLeading()) throw new PlainError(`${what} was lost to another process: run the command again`)
      }).then(result.resolve, result.reject)
    },
  )
  // Also keeps the process alive between two tries, whose timers do not.
  const timer = setTimeout(() => {
    if (!hasBegun) result.reject(new PlainError(stillHeld()))
  }, waitSeconds * 1_000)
  const keepAlive = setInterval(() => undefined, 60_000)
  try {
    return await result.promise
  } finally {
    clearTimeout(timer)
    await election.stop()
    clearInterval(keepAlive)
  }

  /** Ends the wait when the API server refuses the Lease. */
  function observed(lease: LeaseClient): LeaseClient {
    async function answer<Answer>(call: () => Promise<Answer>): Promise<Answer> {
      try {
        return await call()
      } catch (error) {
        if (isStatus(error, 401, 403, 404)) result.reject(refusalError(`${what} cannot be taken${HINT}`, error))
        throw error
      }
    }
    return {
      async read() {
        const stored = await answer(() => lease.read())
        holder = stored?.record.holderIdentity ?? undefined
        return stored
      },
      write: (record, before) => answer(() => lease.write(record, before)),
    }
  }

  function stillHeld(): string {
    const by = holder ? `${printable(holder, 300)} holds it` : 'the API server does not answer'
    return (
      `${what} was not free within ${waitSeconds} s (${by}). An operator that leads would add the finalizers again: ` +
      'stop it, with --stop-deployment or "kubectl scale", and run the command again'
    )
  }
}
