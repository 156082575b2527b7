import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { APPLY_PATCH, MERGE_PATCH } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { until } from './cluster_world.ts'
import { pathOf, resource } from './manifests.ts'
import type { Manifest } from './manifests.ts'
import { proxiedWorld } from './proxied_world.ts'
import type { ProxiedWorld } from './proxied_world.ts'

const STORM_SECONDS = 8
const FOREIGN = 'example.com/Backup'

interface Version {
  metadata: { generation: number; resourceVersion: string; labels?: Record<string, string> }
  status?: { observedGeneration?: number; conditions?: Condition[] }
}

interface Condition {
  type: string
  status: string
  reason: string
  observedGeneration?: number
  lastTransitionTime: string
}

describe('many writers of one object', () => {
  let world: ProxiedWorld
  beforeAll(async () => {
    world = await proxiedWorld()
    await world.approve('alice-realm-admin')
    await world.untilReady('roleassignments', 'alice-realm-admin', 'True', 'Granted')
  })
  afterAll(() => world?.end())

  test.for(['User', 'Client', 'RoleAssignment'])(
    'row 125: a %s that is healed, labelled and reported on many times a second does not flap',
    async (kind) => {
      const { admin } = world.plane
      const wanted = manifests(kind)
      const path = pathOf(wanted(0))
      const { author } = world
      const plural = `${kind.toLowerCase()}s`
      const { name } = wanted(0).metadata
      await world.untilReady(plural, name)
      const versions = await follow(admin, path)
      const from = world.proxy.requests.length
      const writesSince = (at: number): string[] =>
        world.proxy.requests.slice(at).flatMap(({ method, url }) => {
          const isWrite = method !== 'GET' && url.includes(`${path}/status`) && !url.includes('dryRun')
          return isWrite ? url : []
        })

      // Another program labels the object and reports in its status.
      const label = (round: number): Promise<unknown> =>
        admin.do('PATCH', path, { metadata: { labels: { round: String(round) } } }, { contentType: MERGE_PATCH })
      const report = (round: number): Promise<unknown> => {
        const condition = {
          type: FOREIGN,
          status: 'True',
          reason: 'Saved',
          message: `round ${round}`,
          lastTransitionTime: EPOCH,
        }
        const { apiVersion, metadata } = wanted(0)
        const body = { apiVersion, kind, metadata, status: { conditions: [condition] } }
        return admin.do('PATCH', `${path}/status?fieldManager=backup&force=true`, body, { contentType: APPLY_PATCH })
      }
      // Self-healing applies the whole spec, changed or not, and reverts a change by hand.
      let commit = 0
      const heal = (): Promise<unknown> =>
        author.do('PATCH', `${path}?fieldManager=argocd&force=true`, wanted(commit), { contentType: APPLY_PATCH })
      const meddle = (round: number): Promise<unknown> =>
        author.do('PATCH', path, { spec: specOf(wanted(-round - 1)) }, { contentType: MERGE_PATCH })

      const storm = new AbortController()
      const writers = [
        again(storm.signal, 20, label),
        again(storm.signal, 20, report),
        again(storm.signal, 50, heal),
        again(storm.signal, 500, meddle),
        again(storm.signal, 1_000, async () => void (commit += 1)),
      ]
      await sleep(STORM_SECONDS * 1_000)
      storm.abort()
      const rounds = await Promise.all(writers)
      expect(Math.min(...rounds)).toBeGreaterThan(3)
      await heal()
      const last = await world.untilReady(plural, name)
      await until(() => expect(versions.at(-1)?.metadata.resourceVersion).toBe(last.metadata.resourceVersion))

      expectNoFlapping(versions)
      // One status for each generation, and no other.
      const reports = versions.filter((version, at) => {
        const before = versions[at - 1]
        return before !== undefined && JSON.stringify(ownOf(version)) !== JSON.stringify(ownOf(before))
      })
      const generations = last.metadata.generation - (versions[0]?.metadata.generation ?? 0)
      expect(generations).toBeGreaterThan(5)
      expect(reports.length).toBeLessThanOrEqual(generations)
      // A write is refused when another client changed the object first, so there are at most as many refusals as versions.
      expect(writesSince(from).length).toBeLessThan(versions.length)

      // The spec no longer changes, and the other writers go on: the operator writes nothing.
      const rest = new AbortController()
      const quiet = world.proxy.requests.length
      const others = [again(rest.signal, 20, label), again(rest.signal, 20, report), again(rest.signal, 50, heal)]
      await sleep(3_000)
      rest.abort()
      await Promise.all(others)
      expect(writesSince(quiet)).toEqual([])
      const { metadata, status } = await admin.do('GET', path)
      expect(metadata.generation).toBe(last.metadata.generation)
      expect(status.conditions.map(({ type }: Condition) => type)).toContain(FOREIGN)
    },
  )

  function expectNoFlapping(versions: Version[]): void {
    const [first] = versions
    let generation = 0
    for (const { metadata, status } of versions) {
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')
      expect(ready?.status).toBe('True')
      // The condition was True all the time.
      expect(ready?.lastTransitionTime).toBe(
        first?.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime,
      )
      expect(ready?.observedGeneration).toBeGreaterThanOrEqual(generation)
      expect(status?.observedGeneration).toBe(ready?.observedGeneration)
      generation = ready?.observedGeneration ?? 0
      expect(generation).toBeLessThanOrEqual(metadata.generation)
    }
  }
})

const EPOCH = '2026-01-01T00:00:00Z'

/** The content of Git at each commit. */
function manifests(kind: string): (commit: number) => Manifest {
  if (kind === 'User') {
    return (commit) =>
      resource(kind, 'alice', {
        username: 'alice',
        firstName: `Alice ${commit}`,
        passwordSecretRef: { name: 'alice-password' },
      })
  }
  if (kind === 'Client') {
    const clientSecret = { secretRef: { name: 'shop-client', key: 'client_secret' } }
    return (commit) => resource(kind, 'shop', { clientId: 'shop', name: `Shop ${commit}`, clientSecret })
  }
  const subject = { kind: 'User', name: 'alice' }
  return (commit) =>
    resource(kind, 'alice-realm-admin', {
      subject,
      roles: ['svc-realm-admin'],
      reason: `Commit ${commit}`,
      requestedBy: 'platform-team',
    })
}

function specOf({ spec }: Manifest): object {
  return Object(spec)
}

/** The operator's part of status. */
function ownOf({ status }: Version): object {
  return { ...status, conditions: status?.conditions?.filter(({ type }) => type !== FOREIGN) }
}

/** Repeats an action at an interval until the signal. Resolves with the number of repetitions. */
async function again(signal: AbortSignal, millis: number, what: (round: number) => Promise<unknown>): Promise<number> {
  let round = 0
  for (; !signal.aborted; round++) {
    await what(round)
    await sleep(millis)
  }
  return round
}

/** Every version of one object that a watch reports, from the present one on. */
async function follow(as: Account, path: string): Promise<Version[]> {
  const present: Version = await as.do('GET', path)
  const versions = [present]
  const { server, ca, certificate: cert, key } = as.identity
  const folder = path.slice(0, path.lastIndexOf('/'))
  const query = new URLSearchParams({
    watch: 'true',
    fieldSelector: `metadata.name=${path.slice(folder.length + 1)}`,
    resourceVersion: present.metadata.resourceVersion,
  })
  const outgoing = request(`${server}${folder}?${query.toString()}`, { ca, cert, key }, (response) => {
    let rest = ''
    response.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) versions.push(JSON.parse(line).object)
    })
    response.once('error', () => undefined)
  })
  outgoing.once('error', () => undefined)
  outgoing.end()
  onTestFinished(() => void outgoing.destroy())
  return versions
}
