import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asOwner } from '../../support/audit.ts'
import { realmkeeper } from '../../support/command.ts'
import { clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'
import type { Part } from './part.ts'

const HOME = '/api/v1/namespaces/realmkeeper'
const SECRET = `${HOME}/secrets/realmkeeper-audit`

describe('the audit of an installation', () => {
  let world: ClusterWorld
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'realmkeeper-audit-'))
    world = await clusterWorld()
    await world.applyQuickstart()
    await world.untilReady('users', 'alice')
  })
  afterAll(async () => {
    await world?.end()
    rmSync(folder, { recursive: true, force: true })
  })

  interface Signed {
    signature: number
    heads: string[]
  }
  const signedBy = (part: Part): Signed[] =>
    part
      .output()
      .split('\n')
      .filter((line) => line.includes('"msg":"audit chains are signed"'))
      .map((line) => JSON.parse(line))

  async function untilLeading({ healthUrl }: Part): Promise<void> {
    await until(async () => {
      expect(await (await fetch(`${healthUrl}/metrics`)).text()).toMatch(/^realmkeeper_operator_leading 1$/m)
    })
  }

  async function verify(...args: string[]): Promise<{ code: number | null; stdout: string }> {
    const env = { REALMKEEPER_DATABASE_URL: world.database.url }
    return realmkeeper(['audit', 'verify', '--audit-key', join(folder, 'key.json'), ...args], { env })
  }

  test('row 136: is signed with a key that only the operator reads; a cut is found, and reported by the next operator', async () => {
    expect(await world.operator.stop()).toBe(0)
    const [first] = signedBy(world.operator)
    expect(first?.heads).not.toEqual([])

    const { data } = await world.plane.admin.do('GET', SECRET)
    const text = (entry: string): string => Buffer.from(data[entry], 'base64').toString()
    writeFileSync(join(folder, 'key.json'), text('public.json'))
    expect(text('public.json')).not.toContain(JSON.parse(text('private.json')).d)
    expect(text('signed')).toMatch(/^1:[0-9a-f]{64}$/)
    const server = await world.plane.serviceAccount('realmkeeper', 'server')
    expect((await server.call('GET', SECRET)).status).toBe(403)
    const { items } = await world.plane.admin.do('GET', `${HOME}/events`)
    expect(items).toContainEqual(
      expect.objectContaining({
        reason: 'AuditSigned',
        involvedObject: expect.objectContaining({ kind: 'Secret', apiVersion: 'v1', name: 'realmkeeper-audit' }),
      }),
    )
    const head = ['--expect', first?.heads[0] ?? '']
    expect(await verify('--expect-signature', '1', ...head)).toMatchObject({ code: 0 })

    await asOwner(
      world.database.pool,
      'delete from audit where seq > 1',
      'delete from audit_heads',
      'delete from audit_signature',
    )
    expect(await verify(...head)).toMatchObject({ code: 1, stdout: expect.stringContaining('is gone') })
    const next = await world.startOperator()
    await untilLeading(next)
    await next.stop()
    expect(signedBy(next)).toEqual([])
    expect(next.output()).toMatch(/the audit does not continue what was signed; .*: the database has no signature/)
    const name = /--accept-audit-break ([0-9a-f]{16})/.exec(next.output())?.[1]

    const last = await world.startOperator({ args: [`--accept-audit-break=${name}`] })
    await untilLeading(last)
    await last.stop()
    expect(signedBy(last).map(({ signature }) => signature)).toEqual([2])
    expect(await verify('--expect-signature', '2')).toMatchObject({ code: 0 })
    expect(await verify(...head)).toMatchObject({ code: 1 })
  })
})
