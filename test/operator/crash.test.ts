import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { childEnvironment } from '../../process/config.ts'
import { client, password, realm, user } from './manifests.ts'
import { eventually, operatorUnderTest } from './operator_under_test.ts'
import type { Manifest, OperatorUnderTest } from './operator_under_test.ts'

const COMMAND = fileURLToPath(new URL('../../cli/realmkeeper.ts', import.meta.url))
const COUNT = 24

describe('row 119: an operator that is killed at any time', () => {
  let operator: OperatorUnderTest
  beforeEach(async () => {
    operator = await operatorUnderTest()
  })
  afterEach(() => operator.end())

  function startProcess(): ChildProcess {
    const { directory, stateDir, database } = operator
    const args = ['--dir', directory, '--state-dir', stateDir, '--base-url', 'http://localhost:8080']
    args.push('--health-listen-port', '0', '--listen-host', '127.0.0.1', '--log-level', 'error')
    return spawn(process.execPath, [COMMAND, 'operator', ...args], {
      env: childEnvironment({ REALMKEEPER_DATABASE_URL: database.url }),
      stdio: 'ignore',
    })
  }

  /** Each generation of the manifests differs from the one before in everything that is reconciled. */
  function manifests(generation: number): Manifest[] {
    const names = Array.from({ length: COUNT }, (_, n) => `user${(n + generation * 5) % (COUNT + 12)}`)
    return [
      realm('shop', { displayName: `Generation ${generation}`, roles: [{ name: `role${generation}` }] }),
      ...names.flatMap((name) => [
        user(name, { firstName: `G${generation}` }),
        password(name, `password-${generation}`),
      ]),
      ...[0, 1, 2].map((n) => client(`client${n + generation}`, { name: `G${generation}` })),
    ]
  }

  async function countOf(generation: number): Promise<number> {
    const statement = 'select count(*)::int as count from users where first_name = $1'
    return (await operator.rows<{ count: number }>(statement, `G${generation}`))[0]?.count ?? 0
  }

  test('converges to the manifests after a restart, with no duplicate and no leftover row', async () => {
    // The users of the generation that are written at the kill: before, during and at the end of the work.
    const moments = [0, 1, 7, 15, 3, COUNT, 11]
    for (const [generation, written] of moments.entries()) {
      await operator.write('all.yaml', ...manifests(generation))
      const child = startProcess()
      await eventually(async () => expect(await countOf(generation)).toBeGreaterThanOrEqual(written), { every: 2 })
      child.kill('SIGKILL')
      await once(child, 'exit')
    }

    const last = moments.length - 1
    const wanted = manifests(last)
    await operator.start()
    const names = (kind: string): string[] =>
      wanted
        .filter((each) => each.kind === kind)
        .map(({ metadata }) => String(metadata.name))
        .toSorted()
    for (const name of names('User')) await operator.untilReady('User', name)
    for (const name of names('Client')) await operator.untilReady('Client', name)
    await expect
      .poll(() => operator.source().list('User').length + operator.source().list('Client').length, { timeout: 120_000 })
      .toBe(names('User').length + names('Client').length)

    const uid = (kind: 'User' | 'Client', name: string): string => operator.find(kind, name)?.metadata.uid ?? 'none'
    expect(await operator.rows('select username, first_name, subject from users order by username')).toEqual(
      names('User').map((name) => ({ username: name, first_name: `G${last}`, subject: uid('User', name) })),
    )
    expect(await operator.rows('select client_id, resource_uid from clients order by client_id')).toEqual(
      names('Client').map((name) => ({ client_id: name, resource_uid: uid('Client', name) })),
    )
    expect(await operator.rows('select realm, display_name from realms')).toEqual([
      { realm: 'shop', display_name: `Generation ${last}` },
    ])
    const generated = (await operator.source().secrets.read({ namespace: 'default', name: `client${last}-client` }))
      ?.data
    expect(generated?.client_secret?.length).toBe(43)
  })
})
