import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CommandResult } from '../../../support/command.ts'
import { binaryPath } from '../../../support/control_plane.ts'
import type { Account } from '../../../support/control_plane/account.ts'
import { ROOT } from '../../../support/source_files.ts'
import { decisionsWorld, NAMESPACE, pathOf, removedAfter } from './world.ts'
import type { DecisionsWorld } from './world.ts'

const PAGE = readFileSync(join(ROOT, 'docs/approving.md'), 'utf8')

/** The commands that the page prints, by what stands behind `sh` at the head of their block. */
function block(title: string): string {
  return new RegExp('^```sh' + title + '\\n([^`]+)^```$', 'm').exec(PAGE)?.[1] ?? 'false'
}

describe('deciding with kubectl, as docs/approving.md prints it', () => {
  let world: DecisionsWorld
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'realmkeeper-kubectl-'))
    symlinkSync(join(ROOT, 'cli/kubectl-realm'), join(folder, 'kubectl-realm'))
    world = await decisionsWorld()
  })
  afterAll(async () => {
    await world?.plane.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Runs a script in a shell with an account's kubectl, in the namespace. */
  function shell(account: Account, script: string, env: Record<string, string> = {}): Promise<CommandResult> {
    const kubectl = dirname(binaryPath('kubectl'))
    const PATH = [folder, kubectl, process.env.PATH].join(delimiter)
    const namespaced = 'kubectl config set-context --current --namespace="$NAMESPACE" > /dev/null\n'
    const environment = { PATH, HOME: folder, KUBECONFIG: account.kubeconfig, NAMESPACE, ...env }
    return new Promise((resolve) => {
      execFile(
        'sh',
        ['-euc', namespaced + script],
        { env: environment, cwd: folder, encoding: 'utf8' },
        (error, stdout, stderr) => {
          resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
        },
      )
    })
  }

  const inEither = [
    ['the condition', ' condition', { conditions: [{ type: 'Ready' }, { type: 'Approved', decidedBy: 'ann' }] }],
    ['an entry', ' entry', { approvals: [{ approver: 'ann', decision: 'Approved', observedGeneration: 1 }] }],
  ] as const

  test.for(inEither)('%s', async ([name, form, status]) => {
    const request = name.replaceAll(' ', '-')
    removedAfter(world, request)
    await world.request(request)
    const result = await shell(world.ann, block('') + block(form), { NAME: request })
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect((await world.read(request)).status).toMatchObject(status)

    const others = await world.as(world.bea, ['approve', request, '-n', NAMESPACE, '--no-wait'])
    expect(others).toMatchObject({ code: 0, stderr: '' })
    const shown = await world.as(world.bea, ['show', request, '-n', NAMESPACE, '-o', 'json'])
    expect(JSON.parse(shown.stdout).quorum).toEqual({ approved: 2, required: 2 })
  })

  test.for(inEither)('%s about what was edited since is refused', async ([name, form]) => {
    const request = `stale-${name.replaceAll(' ', '-')}`
    removedAfter(world, request)
    await world.request(request)
    const seen = await shell(world.ann, block(''), { NAME: request })
    expect(seen.stdout).toContain('"roles":["reader"]')
    await world.request(request, { roles: ['writer'] })
    const [GENERATION = '', SEEN_UID = ''] = seen.stdout.split(' ')
    const { code, stderr } = await shell(world.ann, block(form), { NAME: request, GENERATION, SEEN_UID, ME: 'ann' })
    expect(code).toBe(1)
    expect(stderr).toContain('a decision must name the version that it covers: observedGeneration: 2, observedUID: ')
  })

  test('kubectl realm is the same command', async () => {
    removedAfter(world, 'plugged')
    await world.request('plugged')
    const pending = await shell(world.ann, 'kubectl realm pending')
    expect(pending).toMatchObject({ code: 0, stderr: '' })
    expect(pending.stdout).toMatch(/^team +plugged +user\/alice/m)
    const approved = await shell(world.ann, 'kubectl realm approve plugged --no-wait')
    expect(approved.stdout).toBe('team/plugged approved by ann (generation 1: reader for alice)\n')
    expect((await shell(world.ann, 'kubectl realm aprove x')).code).toBe(2)
    expect((await shell(world.ann, 'kubectl plugin list')).stdout).toContain('kubectl-realm')
  })

  test('keys are rotated by an annotation on the Realm, by an account that may patch it', async () => {
    const rotate = (account: Account, kind: string) =>
      world.as(account, ['keys', 'rotate', '--realm', 'acme', '--kind', kind, '-n', NAMESPACE])
    const refused = await rotate(world.ann, 'signing')
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('User "ann" cannot patch resource "realms"')

    const { code, stdout } = await rotate(world.plane.admin, 'signing')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'Realm team/acme: rotation of the signing keys requested (status.keys shows them)\n',
    })
    const { metadata } = await world.plane.admin.do('GET', pathOf('realms', 'acme'))
    expect(metadata.annotations).toEqual({ 'realmkeeper.io/rotate-signing': expect.stringMatching(/^20.*\.\d{3}Z$/) })
    expect(Math.abs(Date.now() - Date.parse(metadata.annotations['realmkeeper.io/rotate-signing']))).toBeLessThan(
      60_000,
    )
    expect((await rotate(world.plane.admin, 'encryption')).code).toBe(2)

    const message = 'a rotation of keys waits until the keyring is there'
    const lost = { type: 'KeysReady', status: 'False', reason: 'KeyringLost', message }
    const path = `${pathOf('realms', 'acme')}/status`
    const body = { status: { conditions: [{ ...lost, lastTransitionTime: '2026-01-01T00:00:00Z' }] } }
    await world.plane.admin.do('PATCH', path, body, { contentType: 'application/merge-patch+json' })
    const printed = await rotate(world.plane.admin, 'refresh')
    expect(printed.stdout).toContain(`the operator cannot rotate them now: KeyringLost: ${message}`)
  })
})
