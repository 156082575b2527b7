// A process that leads while it holds a Lease and writes to Postgres as an operator does. The tests start and suspend it;
// it prints what happens to it.
import { processClock } from '../../../kubernetes/clock.ts'
import { runElection } from '../../../operator/leadership/leader_election.ts'
import type { Term } from '../../../operator/leadership/leader_election.ts'
import { leaseClient } from '../../../operator/leadership/lease_client.ts'
import { createApiClient } from '../../../kubernetes/api_client.ts'
import { kubeconfigAccess } from '../../../kubernetes/kubeconfig_access.ts'
import { createLog } from '../../../process/log.ts'
import { createPool } from '../../../store/db.ts'
import { inFencedTransaction, takeEpoch } from '../../../store/operator/epoch.ts'

const [kubeconfig = '', databaseUrl = '', holder = '', lease = ''] = process.argv.slice(2)

const pool = createPool({ connectionString: databaseUrl, applicationName: holder, queryTimeoutMillis: 10_000 })
const client = createApiClient({
  access: kubeconfigAccess({ file: kubeconfig }),
  clock: processClock,
  timeoutMillis: 1_000,
})

/** Writes without asking whether it leads, so that only the fence can stop it. */
async function runTerm({ signal }: Term): Promise<void> {
  const epoch = await takeEpoch(pool, holder)
  console.log(`leads with epoch ${epoch}`)
  while (!signal.aborted) {
    await inFencedTransaction(pool, epoch, (db) =>
      db.query('insert into written (holder, epoch) values ($1, $2)', [holder, epoch]),
    )
    console.log('wrote')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  console.log('ended its term')
}

// The timers of the clock do not keep a process alive.
const alive = setInterval(() => {}, 60_000)
const election = runElection(
  {
    lease: leaseClient(client, { namespace: 'default', name: lease }),
    holder,
    clock: processClock,
    now: () => new Date(),
    random: Math.random,
    log: createLog({ name: holder, level: 'info', destination: { write: () => {} } }),
    times: { durationSeconds: 2, renewDeadlineMillis: 1_200, retryMillis: 300 },
  },
  runTerm,
)
process.once('SIGTERM', () => void election.stop())

await election.ended.catch((error: unknown) => {
  console.log(error instanceof Error ? `${error.name}: ${error.message}` : 'failed')
})
clearInterval(alive)
await pool.end()
client.close()
