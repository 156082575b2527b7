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
/** The rights that an election needs. */
const RULES = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }]

describe('row 120: the leader election', () => {
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
    /** How often the Lease showed a restore of etcd. */
    restores: () => number
  }

  /** A candidate. The Lease cannot tell it from a process. */
  function elect(holder: string, { as = operator, work = untilAborted }: { as?: Account; work?: Work } = {}): Elected {
    const terms: Term[] = []
    let restores = 0
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
        onRestored: () => void restores++,
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
    return { election, terms, leads: () => terms.at(-1)?.isLeading() === true, restores: () => restores }
  }

  const lease = async (): Promise<LeaseRecord> => (await plane.admin.do('GET', `${LEASES}/${name}`)).spec

  test('one of two candidates leads, and the other when the first stops', async () => {
    const one = elect('one')
    await until(one.leads)
    const other = elect('other')
    // Renewed for longer than the Lease lasts.
    await until(async () => {
      const { acquireTime = '', renewTime = '' } = await lease()
      return Date.parse(renewTime) - Date.parse(acquireTime) > 2_500
    })
    expect([one.leads(), other.leads()]).toEqual([true, false])
    expect(await lease()).toMatchObject({ holderIdentity: 'one', leaseDurationSeconds: 2, leaseTransitions: 0 })
    await one.election.stop()
    expect((await lease()).holderIdentity).not.toBe('one')
    await until(other.leads)
    expect(one.leads()).toBe(false)
    expect((await lease()).leaseTransitions).toBe(1)
  })

  test('never two of five candidates lead at a time', async () => {
    let leading = 0
    let most = 0
    let terms = 0
    const work: Work = async (term) => {
      terms += 1
      leading += 1
      most = Math.max(most, leading)
      await untilAborted(term)
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

  test('a candidate waits for a holder that crashed, by its own clock', async () => {
    // The clock of the holder is an hour ahead.
    const renewTime = new Date(Date.now() + 3_600_000).toISOString().replace('Z', '000Z')
    const spec = { holderIdentity: 'gone', leaseDurationSeconds: 1, renewTime, acquireTime: renewTime }
    await plane.admin.do('POST', LEASES, { metadata: { name }, spec })
    const from = processClock.now()
    const one = elect('one')
    expect(one.leads()).toBe(false)
    await until(one.leads)
    expect(processClock.now() - from).toBeGreaterThan(1_000)
  })

  test('a holder that cannot renew stops before another candidate leads, and leads again in another term', async () => {
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

  test('an outage of the API server that is longer than the Lease ends a term, not the process', async () => {
    const proxy = await startFaultProxy(plane, { as: operator })
    onTestFinished(() => proxy.stop())
    const as = accountOf('proxied', { server: proxy.url, ca: plane.authority.certificate }, folder)
    const one = elect('one', { as })
    await until(one.leads)
    proxy.setFault(() => ({ status: 503 }))
    const before = proxy.requests.length
    await until(() => !one.leads())
    // About as many requests as without a fault.
    expect(proxy.requests.length - before).toBeLessThan(40)
    proxy.clearFault()
    await until(() => one.leads() && one.terms.length === 2)
  })

  test('a Lease that is labelled by hand is renewed; one that is deleted ends the term, and is created again', async () => {
    const one = elect('one')
    await until(one.leads)
    for (let round = 0; round < 10; round++) {
      const body = { metadata: { labels: { round: String(round) } } }
      await plane.admin.do('PATCH', `${LEASES}/${name}`, body, { contentType: MERGE_PATCH })
      const { renewTime } = await lease()
      await until(async () => (await lease()).renewTime !== renewTime)
    }
    await plane.admin.do('DELETE', `${LEASES}/${name}`)
    await until(() => one.terms[0]?.signal.aborted === true)
    await until(async () => (await plane.admin.call('GET', `${LEASES}/${name}`)).status === 200)
    await until(one.leads)
    expect(one.restores()).toBe(0)
  })

  test('a Lease with a former renewal, as after a restore of etcd, ends the term, and another one follows', async () => {
    const one = elect('one')
    await until(one.leads)
    const { renewTime } = await lease()
    await until(async () => (await lease()).renewTime !== renewTime)
    await plane.admin.do('PATCH', `${LEASES}/${name}`, { spec: { renewTime } }, { contentType: MERGE_PATCH })
    await until(() => one.terms[0]?.signal.aborted === true)
    await until(() => one.terms.length === 2)
    await until(one.leads)
    expect(one.restores()).toBe(1)
  })

  test('a Lease whose holder was changed by hand is lost', async () => {
    const one = elect('one')
    await until(one.leads)
    const spec = { holderIdentity: 'usurper', leaseDurationSeconds: 1 }
    await plane.admin.do('PATCH', `${LEASES}/${name}`, { spec }, { contentType: MERGE_PATCH })
    await until(() => one.terms[0]?.signal.aborted === true)
    await until(() => one.terms.length === 2)
  })

  test.each([
    ['its namespace does not exist', 'nowhere', 'operator', /namespaces .*nowhere.* not found/],
    ['the candidate has no right to the Lease', 'default', 'nobody', /leases.* is forbidden/],
  ])('where %s, the process is not ready, and its log has the cause', async (_what, leaseNamespace, as, message) => {
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
    await until(() => message.test(logged.join('')))
    // Callers of the health port read it.
    expect(origin.problem?.()).toMatch(/^the Lease cannot be read or written.*the log of this process has the cause$/)
    expect(led).toBe(false)
  })

  test('a term that fails ends the election, and the Lease is released', async () => {
    const one = elect('one', { work: () => Promise.reject(new Error('a newer schema')) })
    await expect(one.election.ended).rejects.toThrow('a newer schema')
    expect((await lease()).holderIdentity ?? '').toBe('')
  })

  test('a term ends before the Lease is released', async () => {
    const order: string[] = []
    const work: Work = async (term) => {
      await untilAborted(term)
      await new Promise((resolve) => setTimeout(resolve, 300))
      // It may write what it finishes.
      order.push(`finished by ${(await lease()).holderIdentity}, leading ${term.isLeading()}`)
    }
    const one = elect('one', { work })
    await until(one.leads)
    await one.election.stop()
    order.push(`then ${(await lease()).holderIdentity ?? ''}`)
    expect(order).toEqual(['finished by one, leading true', 'then '])
  })

  describe('with writes to Postgres', () => {
    let database: TestDatabase
    beforeAll(async () => {
      database = await testDatabase()
      await database.pool.query('create table written (holder text, epoch bigint, at bigserial)')
    })
    afterAll(() => database?.drop())

    test('a process suspended for longer than its Lease is refused by the fence when it continues', async () => {
      const suspended = start('suspended')
      await suspended.untilPrinted('wrote')
      suspended.child.kill('SIGSTOP')
      const next = start('next')
      await next.untilPrinted('wrote')
      const before = await written('suspended')
      suspended.child.kill('SIGCONT')
      await suspended.ended
      // It was deposed; or suspended in a transaction, which Postgres ended; or it saw that its Lease is lost.
      expect(suspended.lines.at(-1)).not.toBe('wrote')
      expect(await written('suspended')).toBe(before)
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
      untilPrinted(line: string): Promise<void>
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
        untilPrinted: (line) => until(() => lines.includes(line)),
        ended: new Promise((resolve) => child.once('close', () => resolve())),
      }
    }
  })
})

type Work = (term: Term) => Promise<void>

function untilAborted({ signal }: Term): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve())
  })
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_500; tries++) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('the condition did not become true in time')
}
