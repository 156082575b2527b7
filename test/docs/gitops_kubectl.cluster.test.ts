import { execFile } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { binaryPath, startControlPlane } from '../support/control_plane.ts'
import type { ControlPlane } from '../support/control_plane.ts'
import { ROOT } from '../support/source_files.ts'
import { argoHealth, documentedStates, objectIn, README } from './gitops_health.ts'

const states = documentedStates().filter(({ kind, type }) => kind === 'RoleAssignment' && type === 'Ready')
const PATH = '/apis/realmkeeper.io/v1alpha1/namespaces/default/roleassignments'

describe('docs/gitops/README.md on an API server', () => {
  let plane: ControlPlane
  beforeAll(async () => {
    plane = await startControlPlane()
    for (const { status, reason } of states) {
      const name = nameIn({ status, reason })
      const subject = { kind: 'User', name: 'alice' }
      const spec = { realmRef: { name: 'acme' }, subject, roles: ['reader'], requestedBy: 'carol' }
      await plane.admin.do('POST', PATH, { ...HEAD, metadata: { name }, spec })
      const object = objectIn({ kind: '', type: 'Ready', status, reason, argo: '', flux: '' }, 1)
      if (object.status) await writeStatus(name, object.status)
    }
  })
  afterAll(() => plane?.stop())

  async function writeStatus(name: string, status: object): Promise<void> {
    await plane.admin.do('PATCH', `${PATH}/${name}/status`, { status }, { contentType: MERGE })
  }

  /** Runs a command of the page with a timeout of 0 s. */
  function run(title: string, env: Record<string, string> = {}): Promise<{ code: number; stderr: string }> {
    const [, script = 'false'] = new RegExp('^```sh ' + title + '\\n([^`]+)^```$', 'm').exec(README) ?? []
    const kubectl = dirname(binaryPath('kubectl'))
    const path = [kubectl, process.env.PATH].join(delimiter)
    const environment = { PATH: path, HOME: '/nonexistent', KUBECONFIG: plane.admin.kubeconfig, ...env }
    return new Promise((resolve) => {
      execFile(
        'sh',
        ['-euc', script.replace(/--timeout=\w+/, '--timeout=0s')],
        { env: environment, cwd: ROOT, encoding: 'utf8' },
        (error, _, stderr) => resolve({ code: error ? Number(error.code) : 0, stderr }),
      )
    })
  }

  test.for(states)('row 128: kubectl wait and get, $status $reason', async (state) => {
    const NAME = nameIn(state)
    expect((await run('granted', { NAME })).code).toBe(state.status === 'True' ? 0 : 1)
    expect((await run('denied', { NAME })).code).toBe(state.reason === 'Denied' ? 0 : 1)
    const line = await plane.kubectl(['get', 'ra', NAME, '--no-headers'])
    const shown =
      state.status === 'none yet' ? /carol +\d+s\s*$/ : new RegExp(`carol +${state.status} +${state.reason} `)
    expect(line).toMatch(shown)
  })

  test('row 128: kubectl wait ignores a Ready of a former generation', async () => {
    const NAME = nameIn({ status: 'True', reason: 'Granted' })
    await plane.admin.do('PATCH', `${PATH}/${NAME}`, { spec: { reason: 'edited' } }, { contentType: MERGE })
    expect((await run('granted', { NAME })).code).toBe(1)
    const { status } = objectIn({ kind: '', type: 'Ready', status: 'True', reason: 'Granted', argo: '', flux: '' }, 2)
    await writeStatus(NAME, status ?? {})
    expect((await run('granted', { NAME })).code).toBe(0)
  })

  test('row 128: kubectl describe and explain show messages and descriptions', async () => {
    const described = await plane.kubectl(['describe', 'ra', nameIn({ status: 'False', reason: 'Denied' })])
    expect(described).toMatch(/Message: +because/)
    expect(described).toMatch(/Reason: +Denied/)
    const explain = (field: string) => plane.kubectl(['explain', field])
    expect(await explain('roleassignment.status.conditions')).toContain('operator writes Ready')
    expect(await explain('roleassignment.spec.requestedBy')).toContain('who cannot decide')
    expect(await explain('realm.spec.fieldEncryption')).toMatch(/DESCRIPTION:\s+\S/)
  })

  test('the health script is added to the ConfigMap of Argo CD, which keeps its entries', async () => {
    await plane.admin.do('POST', '/api/v1/namespaces', { metadata: { name: 'argocd' } })
    const path = '/api/v1/namespaces/argocd/configmaps'
    await plane.admin.do('POST', path, { metadata: { name: 'argocd-cm' }, data: { url: 'https://argocd.example.com' } })
    expect(await run('argocd')).toEqual({ code: 0, stderr: '' })
    const { data } = await plane.admin.do('GET', `${path}/argocd-cm`)
    expect(Object.keys(data).toSorted()).toEqual([
      'resource.customizations.health.realmkeeper.io_Client',
      'resource.customizations.health.realmkeeper.io_Realm',
      'resource.customizations.health.realmkeeper.io_RoleAssignment',
      'resource.customizations.health.realmkeeper.io_User',
      'url',
    ])
  })

  test('row 128: the script reads objects as an API server has them', async () => {
    const name = nameIn({ status: 'False', reason: 'QuorumNotReached' })
    const object = parse(await plane.kubectl(['get', 'ra', name, '-o', 'yaml']))
    expect(await argoHealth(object)).toMatchObject({ status: 'Suspended' })
  })
})

const HEAD = { apiVersion: 'realmkeeper.io/v1alpha1', kind: 'RoleAssignment' }
const MERGE = 'application/merge-patch+json'

function nameIn({ status, reason }: { status: string; reason: string }): string {
  return `${status}-${reason}`.toLowerCase().replaceAll(/\W+/g, '-').replace(/-$/, '')
}
