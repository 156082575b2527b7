import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../../support/source_files.ts'
import { clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'
import type { Part } from './part.ts'

const PAGE = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8')
const BINDING =
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/realmkeeper-roleassignment-decisions'

describe('metrics of a running installation', () => {
  let world: ClusterWorld
  beforeAll(async () => {
    world = await clusterWorld()
    await world.applyQuickstart()
    await world.untilReady('users', 'alice')
  })
  afterAll(() => world?.end())

  async function scrape({ healthUrl }: Part): Promise<string> {
    return (await fetch(`${healthUrl}/metrics`)).text()
  }

  /** The value of one series; undefined when it is absent. */
  async function valueOf(series: string, part = world.operator): Promise<number | undefined> {
    const line = (await scrape(part)).split('\n').find((each) => each.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.slice(series.length + 1))
  }

  test('docs/metrics.md lists every metric and no other', async () => {
    const served = [await scrape(world.operator), await scrape(world.server)].flatMap((text) =>
      [...text.matchAll(/^# TYPE (realmkeeper_\w+) /gm)].map(([, name]) => name),
    )
    const listed = [...PAGE.matchAll(/^\| `(realmkeeper_\w+)` \|/gm)].map(([, name]) => name)
    expect(new Set(listed)).toEqual(new Set(served))
  })

  test('the alerts of docs/metrics.md name metrics that exist', () => {
    const rules: { expr: string }[] = parse(/```yaml\n([\s\S]*?)```/.exec(PAGE)![1]!).groups[0].rules
    for (const { expr } of rules) expect(PAGE).toContain(`| \`${/realmkeeper_\w+/.exec(expr)![0]}\` |`)
  })

  test('the operator shows its watches, its calls and its reconciles', async () => {
    await until(async () => {
      expect(await valueOf('realmkeeper_operator_leading')).toBe(1)
      expect(await valueOf('realmkeeper_operator_leadership_changes_total{to="leading"}')).toBe(1)
      const watch = '{watch="users.realmkeeper.io in all namespaces"}'
      expect(await valueOf(`realmkeeper_operator_watch_complete${watch}`)).toBe(1)
      expect(await valueOf(`realmkeeper_operator_watch_age_seconds${watch}`)).toBeLessThan(300)
      for (const verb of ['list', 'watch', 'get', 'patch', 'update'])
        expect(
          await valueOf(`realmkeeper_kubernetes_api_calls_total{verb="${verb}",code="200"}`),
          verb,
        ).toBeGreaterThan(0)
      expect(await valueOf('realmkeeper_kubernetes_api_calls_total{verb="create",code="201"}')).toBeGreaterThan(0)
      const ready = '{kind="User",result="ready"}'
      const count = await valueOf(`realmkeeper_operator_reconcile_duration_seconds_count${ready}`)
      expect(count).toBe(await valueOf(`realmkeeper_operator_reconciles_total${ready}`))
      expect(count).toBeGreaterThan(0)
    })
  })

  test('the server counts its calls', async () => {
    const series = 'realmkeeper_kubernetes_api_calls_total{verb="watch",code="200"}'
    await until(async () => expect(await valueOf(series, world.server)).toBeGreaterThan(0))
  })

  test('the leader shows when the license and the keys of a realm are due', async () => {
    const inDays = async (series: string): Promise<number> =>
      ((await valueOf(series)) ?? 0) / 86_400 - Date.now() / 86_400_000
    await until(async () => {
      expect(await inDays('realmkeeper_license_expiry_timestamp_seconds{realm="quickstart"}')).toBeGreaterThan(0)
      for (const kind of ['signing', 'refresh']) {
        const series = `realmkeeper_key_rotation_due_timestamp_seconds{realm="quickstart",kind="${kind}"}`
        expect(await inDays(series)).toBeCloseTo(90, 0)
      }
    })
  })

  test('a gap shows its state, its start and its number, and a standby shows none', async () => {
    const state = (name: string) => valueOf(`realmkeeper_approval_enforcement_state{state="${name}"}`)
    await until(async () => expect(await state('enforced')).toBe(1))
    const before = (await valueOf('realmkeeper_approval_enforcement_gaps_total')) ?? 0
    expect(await valueOf('realmkeeper_approval_enforcement_gap_start_timestamp_seconds')).toBeUndefined()

    const { spec, metadata } = await world.plane.admin.do('GET', BINDING)
    await world.plane.admin.do('DELETE', BINDING)
    await until(async () => {
      expect(await state('gap')).toBe(1)
      expect(await state('enforced')).toBe(0)
    })
    expect(await valueOf('realmkeeper_approval_enforcement_gaps_total')).toBe(before + 1)
    const since = await valueOf('realmkeeper_approval_enforcement_gap_start_timestamp_seconds')
    expect(since).toBeGreaterThan(Date.now() / 1_000 - 60)

    const { name, labels, annotations } = metadata
    const path = BINDING.slice(0, BINDING.lastIndexOf('/'))
    await world.plane.admin.do('POST', path, { metadata: { name, labels, annotations }, spec })
    await until(async () => expect(await state('enforced')).toBe(1))
    expect(await valueOf('realmkeeper_approval_enforcement_gap_start_timestamp_seconds')).toBeUndefined()

    const standby = await world.startOperator()
    await until(async () => expect(await standby.isReady()).toBe(true))
    expect(await valueOf('realmkeeper_operator_leading', standby)).toBe(0)
    const text = await scrape(standby)
    expect(text).not.toMatch(/realmkeeper_approval_enforcement_state\{/)
    expect(text).not.toMatch(/realmkeeper_(license_expiry|key_rotation_due)_timestamp_seconds\{/)
  })
})
