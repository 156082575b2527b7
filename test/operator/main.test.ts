import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runOperator } from '../../operator/main.ts'
import type { OperatorConfig } from '../../process/settings.ts'
import { createLog } from '../../process/log.ts'
import { realm } from './manifests.ts'
import { configOf, eventually, operatorUnderTest } from './operator_under_test.ts'
import type { OperatorUnderTest } from './operator_under_test.ts'

describe('the operator as a process', () => {
  let operator: OperatorUnderTest
  beforeEach(async () => {
    operator = await operatorUnderTest()
  })
  afterEach(() => operator.end())

  test.each<[string, Partial<OperatorConfig>, RegExp]>([
    ['an unknown kind', { acceptEmpty: 'Users' }, /--accept-empty: must list kinds/],
    [
      'a file of license keys that does not exist',
      { licenseKeys: '/no/such/file' },
      /--license-keys .* cannot be read/,
    ],
    ['a directory that does not exist', { dir: '/no/such/folder' }, /\/no\/such\/folder is no folder/],
    ['no directory', { dir: undefined }, /--dir and --state-dir are required/],
  ])('refuses to start with %s, and reports the fault', async (_what, change, message) => {
    const config = { ...configOf(operator.database.url, operator.directory, operator.stateDir), ...change }
    const log = createLog({ name: 'operator', level: 'error' })
    await expect(runOperator(config, { log, now: () => new Date() })).rejects.toThrow(message)
  })

  test('refuses a state directory that another process has locked, and unlocks it when it stops', async () => {
    const config = configOf(operator.database.url, operator.directory, operator.stateDir)
    const log = createLog({ name: 'operator', level: 'error' })
    const start = () => runOperator(config, { log, now: () => new Date() })
    const first = await start()
    await expect(start()).rejects.toThrow(`(process ${process.pid}) uses ${operator.stateDir}`)
    await first.stop()
    await expect(runOperator({ ...config, dir: '/no/such/folder' }, { log, now: () => new Date() })).rejects.toThrow()
    await (await start()).stop()
  })

  test('refuses private license keys, and its error quotes none of them', async () => {
    const file = join(operator.stateDir, 'keys.json')
    const key = {
      kty: 'OKP',
      crv: 'Ed25519',
      x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
      d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
    }
    await writeFile(file, JSON.stringify({ keys: [key] }))
    await expect(operator.start({}, { licenseKeys: file })).rejects.toThrow(/^((?!nWGxne).)*private((?!nWGxne).)*$/)
    await writeFile(file, 'nWGxne_9WmC6')
    await expect(operator.start({}, { licenseKeys: file })).rejects.toThrow(/^((?!nWGxne).)*not JSON$/)
  })

  test('serves its health and its metrics', async () => {
    await operator.write('realm.yaml', realm())
    const { healthPort } = await operator.start()
    await operator.untilReady('Realm', 'shop')
    const ask = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${healthPort}${path}`)).text()
    expect(JSON.parse(await ask('/readyz'))).toEqual({ ready: true, checks: { postgres: 'ok', reconciling: 'ok' } })
    // Its own status enqueues the Realm again, so the numbers settle a moment later.
    await eventually(async () => {
      const metrics = await ask('/metrics')
      expect(metrics).toContain('realmkeeper_resources{kind="Realm",ready="True"} 1')
      expect(metrics).toMatch(/realmkeeper_operator_reconciles_total\{kind="Realm",result="ready"\} \d/)
      expect(metrics).toMatch(/realmkeeper_operator_queue_ready\{kind="User"\} 0/)
      expect(metrics).toMatch(/realmkeeper_operator_queue_waiting\{kind="Realm"\} 1/)
    })
  })

  test('signs the audit when it stops, and again only when something is new', async () => {
    await operator.write('realm.yaml', realm())
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    await operator.stop()
    const signed = () => operator.log.filter(({ msg }) => msg === 'audit chains are signed')
    const [last] = await operator.rows<{ writer: string; seq: string }>(
      'select writer, max(seq) as seq from audit group by writer',
    )
    expect(signed()).toEqual([
      expect.objectContaining({ signature: 1, heads: [expect.stringContaining(`${last?.writer}=${last?.seq}:`)] }),
    ])
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    await operator.stop()
    expect(signed()).toHaveLength(1)
  })

  test('ends with an error that names the migration when the database is too new', async () => {
    await operator.rows(`insert into migrations (id, name, breaking) values (900001, 'from_the_future', true)`)
    const { failed } = await operator.start()
    expect((await failed).message).toContain('900001 (from_the_future)')
  })
})
