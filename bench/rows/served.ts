import type { ChildProcess } from 'node:child_process'
import { hasControlPlane, startBenchCluster } from '../cluster.ts'
import { ownDatabase } from '../database.ts'
import { eventually, sleep } from '../eventually.ts'
import { startOperator } from '../operator.ts'
import { peopleOf, REALM } from '../people.ts'
import type { People } from '../people.ts'
import { median, plain } from '../report.ts'
import type { Figure } from '../report.ts'
import { canLogIn, logIn } from '../session.ts'
import { end, PASSWORD, startServer } from '../world.ts'
import type { BenchWorld } from '../world.ts'

const TIMES = 10
/** One user for each measurement, and the users that are deleted. */
const USERS = 10 + TIMES
/** The interval is short against the measured times, and the limit is long. */
const POLLING = { seconds: 60, everyMillis: 10 }

interface Context {
  people: People
  /** Of the server. */
  port: number
}

/**
 * Seconds from a write to the API server until the answers of the server reflect it: granted roles after the last
 * decision, ended roles, changed users and clients. Median and maximum of ten measurements.
 */
export async function servedRows(world: BenchWorld): Promise<Figure[]> {
  if (!hasControlPlane('served')) return []
  const cluster = await startBenchCluster(world.directory)
  const children: ChildProcess[] = []
  try {
    const databaseUrl = await ownDatabase(world, 'bench_served')
    const args = [
      `--kubeconfig=${cluster.operator}`,
      `--license-keys=${cluster.licenseKeys}`,
      '--require-approval-enforcement',
      '--trust-existing-decisions',
    ]
    const operator = await startOperator(world, { args, databaseUrl })
    children.push(operator.child)
    await operator.untilReady()
    const server = await startServer({ databaseUrl, kubeconfig: cluster.server })
    children.push(server.child)

    const people = peopleOf(cluster)
    await people.applyRealm(USERS)
    const figures: Figure[] = []
    for (const [what, measure] of Object.entries(MEASURES)) {
      const seconds: number[] = []
      for (let time = 0; time < TIMES; time++) seconds.push(await measure({ people, port: server.port }, time))
      const slowest = Math.max(...seconds)
      figures.push(plain(what, `${median(seconds).toFixed(2)}, ≤ ${slowest.toFixed(2)} s`, '< 2 s', slowest < 2))
    }
    return figures
  } finally {
    for (const child of children) await end(child)
    await cluster.plane.stop()
  }
}

/** The changes; each measurement returns the seconds until the answers reflect the change. */
const MEASURES: Record<string, (context: Context, time: number) => Promise<number>> = {
  async 'role usable after the last decision'({ people, port }, time) {
    const session = await logIn(port, REALM, 1)
    const name = `usable-${time}`
    await people.request(name)
    await people.approve(name)
    const seconds = await eventually(() => session.mayEncrypt(), POLLING)
    await people.remove('roleassignments', name)
    await eventually(async () => !(await session.hasRoles()), POLLING)
    return seconds
  },

  'role gone after an edit': (context, time) =>
    untilGone(context, `edited-${time}`, (name) => context.people.edit('roleassignments', name, { roles: ['reader'] })),

  'role gone after its deletion': (context, time) =>
    untilGone(context, `deleted-${time}`, (name) => context.people.remove('roleassignments', name)),

  'role gone after its expiry'(context, time) {
    // Kubernetes stores times in whole seconds.
    const expiresAt = new Date(Math.ceil(Date.now() / 1000) * 1000 + 5_000)
    const untilThen = (): Promise<void> => sleep(expiresAt.getTime() - Date.now())
    return untilGone(context, `expiring-${time}`, untilThen, { expiresAt: expiresAt.toISOString() })
  },

  async 'user renamed'({ people, port }, time) {
    const session = await logIn(port, REALM, 2)
    await people.edit('users', 'user-2', { firstName: `Name ${time}` })
    return eventually(async () => (await session.userinfo()).given_name === `Name ${time}`, POLLING)
  },

  async 'user disabled'({ people, port }) {
    const session = await logIn(port, REALM, 3)
    await people.edit('users', 'user-3', { enabled: false })
    const seconds = await eventually(async () => (await session.refreshStatus()) === 400, POLLING)
    await people.edit('users', 'user-3', { enabled: true })
    await eventually(() => canLogIn(port, REALM, 3), { seconds: 60 })
    return seconds
  },

  async 'password changed'({ people, port }, time) {
    const session = await logIn(port, REALM, 4, time === 0 ? PASSWORD : `password ${time - 1}`)
    await people.setPassword(4, `password ${time}`)
    // A changed password ends the sessions. Polling with the new password would count as guessing.
    const seconds = await eventually(async () => (await session.refreshStatus()) === 400, POLLING)
    if (!(await canLogIn(port, REALM, 4, `password ${time}`))) throw new Error('the new password is not served')
    return seconds
  },

  async 'client disabled'({ people, port }) {
    await people.edit('clients', 'shop', { enabled: false })
    const seconds = await eventually(async () => !(await canLogIn(port, REALM, 5)), POLLING)
    await people.edit('clients', 'shop', { enabled: true })
    await eventually(() => canLogIn(port, REALM, 5), { seconds: 60 })
    return seconds
  },

  async 'user deleted'({ people, port }, time) {
    const user = USERS - 1 - time
    const session = await logIn(port, REALM, user)
    await people.remove('users', `user-${user}`)
    return eventually(async () => (await session.refreshStatus()) === 400, POLLING)
  },
}

/** Seconds until new tokens lack the granted roles, and until an old token shows no roles and cannot decrypt. */
async function untilGone(
  { people, port }: Context,
  name: string,
  change: (name: string) => Promise<void>,
  spec: object = {},
): Promise<number> {
  const session = await logIn(port, REALM, 1)
  await people.request(name, spec)
  await people.approve(name)
  await eventually(() => session.mayEncrypt(), POLLING)
  const isGoneFromOld = await session.keepToken()
  await change(name)
  const seconds = await eventually(async () => (await isGoneFromOld()) && !(await session.hasRoles()), POLLING)
  await people.remove('roleassignments', name)
  return seconds
}
