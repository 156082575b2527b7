import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { processClock } from '../../../kubernetes/clock.ts'
import { runElection } from '../../../operator/leadership/leader_election.ts'
import type { Election, LeaseTimes, Term } from '../../../operator/leadership/leader_election.ts'
import { leaseClient } from '../../../operator/leadership/lease_client.ts'
import type { LeaseRecord } from '../../../operator/leadership/lease_record.ts'
import { onCluster } from '../../../operator/source/on_cluster.ts'
import { createApiClient } from '../../../kubernetes/api_client.ts'
import { kubeconfigAccess } from '../../../kubernetes/kubeconfig_access.ts'
import { createLog } from '../../../process/log.ts'
import { OPERATOR_SETTINGS } from '../../../process/settings.ts'
import { configFrom } from '../../support/config.ts'
import { startControlPlane } from '../../support/control_plane.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import { MERGE_PATCH, accountOf } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { startFaultProxy } from '../../support/fault_proxy.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { ROOT } from '../../support/source_files.ts'
import { grant } from '../source/cluster/rights.ts'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const QUICK: LeaseTimes = { durationSeconds: 2, renewDeadlineMillis: 1_200, retryMillis: 200 }
/** What an election asks of a cluster. */
const RULES = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }]

describe('row 120: who leads', () => {
  let plane: ControlPlane
  let operator: Account
  let folder: string
  let name: string
  let elections = 0

  beforeAll(async () => {
    plane = await startControlPlane()
    await grant(plane.admin, 'operator', RULES)
    operator = plane.user('operator')
    folder = mkdtempSync(join(tmpdir(), 'realmkeeper-lease-'))
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await plane?.stop()
  })
  beforeEach(() => {
    name = `operator-${++elections}`
  })

  interface Elected {
    election: Election
    terms: Term[]
    leads: () => boolean
  }

  /** A process, as far as the Lease knows. */
  function elect(holder: string, { as = operator, work = sleep }: { as?: Account; work?: Work } = {}): Elected {
    const terms: Term[] = []
    const access = kubeconfigAccess({ file: as.kubeconfig })
    const client = createApiClient({ access, clock: processClock, timeoutMillis: 500 })
    const election = runElection(
      {
        lease: leaseClient(client, { namespace: 'default', name }),
        holder,
        clock: processClock,
        now: () => new Date(),
        random: Math.random,
        log: createLog({ name: holder, level: 'info', destination: { write: () => {} } }),
        times: QUICK,
      },
      async (term) => {
        terms.push(term)
        await work(term)
      },
    )
    onTestFinished(async () => {
      await election.stop()
      client.close()
    })
    return { election, terms, leads: () => terms.at(-1)?.isLeading() === true }
  }

  const lease = async (): Promise<LeaseRecord> => (await plane.admin.do('GET', `${LEASES}/${name}`)).spec

  test('one of two, and the other when the first one stops', async () => {
    const one = elect('one')
    await until(one.leads)
    const other = elect('other')
    await new Promise((resolve) => setTimeout(resolve, 3 * 1_000))
    // Longer than the Lease lasts: it was renewed.
    expect([one.leads(), other.leads()]).toEqual([true, false])
    expect(await lease()).toMatchObject({ holderIdentity: 'one', leaseDurationSeconds: 2, leaseTransitions: 0 })
    await one.election.stop()
    expect((await lease()).holderIdentity).not.toBe('one')
    await until(other.leads)
    expect(one.leads()).toBe(false)
    expect((await lease()).leaseTransitions).toBe(1)
  })

  test('never two of five that come and go', async () => {
    let leading = 0
    let most = 0
    let terms = 0
    const work: Work = async (term) => {
      terms += 1
      leading += 1
      most = Math.max(most, leading)
      await sleep(term)
      leading -= 1
    }
    const waiting = Array.from({ length: 5 }, (_, index) => elect(`holder-${index}`, { work }))
    while (waiting.length > 0) {
      await until(() => waiting.some(({ leads }) => leads()))
      const [first] = waiting.splice(
        waiting.findIndex(({ leads }) => leads()),
        1,
      )
      await first?.election.stop()
    }
    expect(most).toBe(1)
    expect(terms).toBe(5)
  })

  test('a holder that is gone without a word is waited for, by one’s own clock', async () => {
    // Its times are nonsense: an hour ahead of everybody's.
    const renewTime = new Date(Date.now() + 3_600_000).toISOString().replace('Z', '000Z')
    const spec = { holderIdentity: 'gone', leaseDurationSeconds: 1, renewTime, acquireTime: renewTime }
    await plane.admin.do('POST', LEASES, { metadata: { name }, spec })
    const one = elect('one')
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(one.leads()).toBe(false)
    await until(one.leads)
  })

  test('who cannot renew stops before anybody else begins, and leads again in another term', async () => {
    const proxy = await startFaultProxy(plane, { as: operator })
    onTestFinished(() => proxy.stop())
    const as = accountOf('proxied', { server: proxy.url, ca: plane.authority.certificate }, folder)
    const one = elect('one', { as })
    await until(one.leads)
    const other = elect('other')
    proxy.setFault(() => 'hang')
    proxy.cut()
    await until(() => !one.leads())
    expect(other.leads()).toBe(false)
    await until(other.leads)
    proxy.clearFault()
    await other.election.stop()
    await until(() => one.leads() && one.terms.length === 2)
    expect(one.terms[0]?.signal.aborted).toBe(true)
    expect(one.terms[0]?.isLeading()).toBe(false)
  })

  test('an API server that was away for longer than the Lease costs a term and not the process', async () => {
    const proxy = await startFaultProxy(plane, { as: operator })
    onTestFinished(() => proxy.stop())
    const as = accountOf('proxied', { server: proxy.url, ca: plane.authority.certificate }, folder)
    const one = elect('one', { as })
    await until(one.leads)
    proxy.setFault(() => ({ status: 503 }))
    const before = proxy.requests.length
    await until(() => !one.leads())
    // About as often as when all is well.
    expect(proxy.requests.length - before).toBeLessThan(40)
    proxy.clearFault()
    await until(() => one.leads() && one.terms.length === 2)
  })

  test('a Lease that somebody labels is kept, one that somebody deletes is made anew', async () => {
    const one = elect('one')
    await until(one.leads)
    for (let round = 0; round < 10; round++) {
      const body = { metadata: { labels: { round: String(round) } } }
      await plane.admin.do('PATCH', `${LEASES}/${name}`, body, { contentType: MERGE_PATCH })
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await plane.admin.do('DELETE', `${LEASES}/${name}`)
    await until(async () => (await plane.admin.call('GET', `${LEASES}/${name}`)).status === 200)
    // On a machine too busy to renew in time it is another term; that it leads on is what matters.
    await until(one.leads)
  })

  test('a Lease that somebody gave away is lost', async () => {
    const one = elect('one')
    await until(one.leads)
    const spec = { holderIdentity: 'usurper', leaseDurationSeconds: 1 }
    await plane.admin.do('PATCH', `${LEASES}/${name}`, { spec }, { contentType: MERGE_PATCH })
    await until(() => one.terms[0]?.signal.aborted === true)
    await until(() => one.terms.length === 2)
  })

  test.each([
    ['its namespace is not there', 'nowhere', 'operator', /namespaces .*nowhere.* not found/],
    ['one has no right to it', 'default', 'nobody', /leases.* is forbidden/],
  ])('where %s, who cannot lead is not ready and says why', async (_what, leaseNamespace, as, message) => {
    const logged: string[] = []
    const args = ['--database-url', 'postgres://nobody@127.0.0.1:1/none', '--base-url', 'http://localhost']
    const config = {
      ...configFrom(OPERATOR_SETTINGS, args),
      kubeconfig: plane.user(as).kubeconfig,
      leaseNamespace,
    }
    const log = createLog({ name: 'one', level: 'info', destination: { write: (line) => void logged.push(line) } })
    const surroundings = { holder: 'one', log, now: () => new Date(), clock: processClock, random: Math.random }
    const origin = onCluster(config, surroundings)
    let led = false
    const election = origin.elect(async () => void (led = true))
    onTestFinished(async () => {
      await election.stop()
      origin.close()
    })
    await until(() => message.test(origin.problem?.() ?? ''))
    expect(origin.problem?.()).toContain('the Lease')
    expect(logged.join('')).toMatch(message)
    expect(led).toBe(false)
  })

  test('work that fails ends the election, and the Lease is given back', async () => {
    const one = elect('one', { work: () => Promise.reject(new Error('a newer schema')) })
    await expect(one.election.ended).rejects.toThrow('a newer schema')
    expect((await lease()).holderIdentity ?? '').toBe('')
  })

  test('what was begun is finished before the Lease is given back', async () => {
    const order: string[] = []
    const work: Work = async (term) => {
      await sleep(term)
      await new Promise((resolve) => setTimeout(resolve, 300))
      // Still its own: what it finishes it may write.
      order.push(`finished by ${(await lease()).holderIdentity}, leading ${term.isLeading()}`)
    }
    const one = elect('one', { work })
    await until(one.leads)
    await one.election.stop()
    order.push(`then ${(await lease()).holderIdentity ?? ''}`)
    expect(order).toEqual(['finished by one, leading true', 'then '])
  })

  describe('and writes to Postgres', () => {
    let database: TestDatabase
    beforeAll(async () => {
      database = await testDatabase()
      await database.pool.query('create table written (holder text, epoch bigint, at bigserial)')
    })
    afterAll(() => database?.drop())

    test('one that slept past its Lease is refused by the fence when it wakes', async () => {
      const sleeper = start('sleeper')
      await sleeper.said('wrote')
      sleeper.child.kill('SIGSTOP')
      const next = start('next')
      await next.said('wrote')
      const before = await written('sleeper')
      sleeper.child.kill('SIGCONT')
      await sleeper.ended
      // Deposed; or, put to sleep in the middle of a transaction, cut off by Postgres; or it saw for itself.
      expect(sleeper.lines.at(-1)).not.toBe('wrote')
      expect(await written('sleeper')).toBe(before)
      const { rows } = await database.pool.query<{ epochs: string[] }>(
        'select array_agg(distinct epoch order by epoch) as epochs from written',
      )
      expect(rows[0]?.epochs).toHaveLength(2)
      next.child.kill('SIGTERM')
      await next.ended
      expect(next.lines).toContain('ended its term')
      expect((await lease()).holderIdentity ?? '').toBe('')
    })

    async function written(holder: string): Promise<number> {
      const { rows } = await database.pool.query<{ count: string }>('select count(*) from written where holder = $1', [
        holder,
      ])
      return Number(rows[0]?.count)
    }

    interface Started {
      child: ChildProcess
      lines: string[]
      said(line: string): Promise<void>
      ended: Promise<void>
    }

    function start(holder: string): Started {
      const args = [join(ROOT, 'test/operator/leadership/elector.ts'), operator.kubeconfig, database.url, holder, name]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      const lines: string[] = []
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
      onTestFinished(() => void child.kill('SIGKILL'))
      return {
        child,
        lines,
        said: (line) => until(() => lines.includes(line)),
        ended: new Promise((resolve) => child.once('close', () => resolve())),
      }
    }
  })
})

type Work = (term: Term) => Promise<void>

function sleep({ signal }: Term): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve())
  })
}

async function until(look: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_500; tries++) {
    if (await look()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('not seen in time')
}
