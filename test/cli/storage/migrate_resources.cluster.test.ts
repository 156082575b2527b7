import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { user } from '../../admission/legitimate.ts'
import { installPolicies } from '../../support/policies.ts'
import { assignment, realm } from '../../admission/world.ts'
import type { Stored } from '../../admission/world.ts'
import { condition } from '../../admission/writes.ts'
import { realmkeeper } from '../../support/command.ts'
import type { CommandResult } from '../../support/command.ts'
import { startControlPlane, untilServed } from '../../support/control_plane.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import { MERGE_PATCH } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { untilRightsAct } from '../../support/control_plane/rights.ts'
import { ROOT } from '../../support/source_files.ts'

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const FORMER = '/apis/realmkeeper.io/v1alpha1/namespaces/team'
const PRESENT = '/apis/realmkeeper.io/v1beta1/namespaces/team'

/** An installation whose CRDs knew v1alpha1 only, and what an upgrade makes of it. */
describe('an upgrade from v1alpha1 to v1beta1', () => {
  let plane: ControlPlane
  let admin: Account
  let migrator: Account
  const before = new Map<string, Stored>()
  const shipped = globSync('crds/*.yaml', { cwd: ROOT }).map((path) => parse(readFileSync(join(ROOT, path), 'utf8')))

  beforeAll(async () => {
    plane = await startControlPlane({ crds: false })
    admin = plane.admin
    for (const crd of shipped) {
      const { deprecated: _, deprecationWarning: _warning, ...former } = crd.spec.versions[1]
      const versions = [{ ...former, storage: true }]
      await admin.do('POST', CRDS, { ...crd, spec: { ...crd.spec, versions } })
      await untilServed(admin, `/apis/realmkeeper.io/v1alpha1/${crd.spec.names.plural}`)
    }
    await admin.do('POST', '/api/v1/namespaces', { metadata: { name: 'team' } })
    const old = (object: Stored): Stored => ({ ...object, apiVersion: 'realmkeeper.io/v1alpha1' })
    await admin.do('POST', `${FORMER}/realms`, old(realm('acme')))
    for (let index = 0; index < 260; index++) await admin.do('POST', `${FORMER}/users`, old(user(`user-${index}`)))
    const request = old(assignment('waiting', { requestedBy: 'carol' }))
    const created = await admin.do('POST', `${FORMER}/roleassignments`, request)
    const status = { conditions: [condition(created, 'ann')] }
    await admin.do('PATCH', `${FORMER}/roleassignments/waiting/status`, { status }, { contentType: MERGE_PATCH })
    await installPolicies(admin)

    migrator = plane.user('migrator')
    const rules = [
      {
        apiGroups: ['realmkeeper.io'],
        resources: ['realms', 'clients', 'users', 'roleassignments'],
        verbs: ['list', 'patch'],
      },
      {
        apiGroups: ['apiextensions.k8s.io'],
        resources: ['customresourcedefinitions', 'customresourcedefinitions/status'],
        verbs: ['get', 'patch'],
      },
    ]
    await admin.do('POST', `${RBAC}/clusterroles`, { metadata: { name: 'migrator' }, rules })
    await admin.do('POST', `${RBAC}/clusterrolebindings`, {
      metadata: { name: 'migrator' },
      subjects: [{ kind: 'User', name: 'migrator', apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { kind: 'ClusterRole', name: 'migrator', apiGroup: 'rbac.authorization.k8s.io' },
    })
    await untilRightsAct(admin)
    for (const path of ['realms/acme', 'users/user-7', 'roleassignments/waiting'])
      before.set(path, await admin.do('GET', `${FORMER}/${path}`))
  })
  afterAll(() => plane?.stop())

  function migrate(): Promise<CommandResult> {
    return realmkeeper(['migrate-resources', `--kubeconfig=${migrator.kubeconfig}`])
  }

  async function storedVersions(): Promise<Record<string, string[]>> {
    const names = shipped.map(({ metadata }) => metadata.name)
    const crds = await Promise.all(names.map((name) => admin.do('GET', `${CRDS}/${name}`)))
    return Object.fromEntries(crds.map(({ metadata, status }) => [metadata.name, status.storedVersions]))
  }

  /** The enforcement check takes a new generation of a CRD for a change of the rules. */
  async function generations(): Promise<number[]> {
    const names = shipped.map(({ metadata }) => metadata.name)
    const crds = await Promise.all(names.map((name) => admin.do('GET', `${CRDS}/${name}`)))
    return crds.map(({ metadata }) => metadata.generation)
  }

  async function versionsInEtcd(): Promise<Set<string>> {
    return new Set((await plane.stored('/registry/realmkeeper.io/')).map(({ apiVersion }) => apiVersion))
  }

  test('before it, the command says that the CRDs are to be installed first', async () => {
    const { code, stderr } = await migrate()
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('realms.realmkeeper.io stores v1alpha1: install the CustomResourceDefinitions'),
    })
  })

  test('serves both versions of what was stored before', async () => {
    await plane.kubectl(['apply', '--server-side', '--force-conflicts', '-f', 'crds'])
    for (const { spec } of shipped) await untilServed(admin, `/apis/realmkeeper.io/v1beta1/${spec.names.plural}`)
    for (const [path, object] of before) {
      const present = await admin.do('GET', `${PRESENT}/${path}`)
      expect(present).toMatchObject({ apiVersion: 'realmkeeper.io/v1beta1', spec: object.spec })
      expect(present.status).toEqual(object.status)
      expect((await admin.do('GET', `${FORMER}/${path}`)).apiVersion).toBe('realmkeeper.io/v1alpha1')
    }
    expect(await versionsInEtcd()).toEqual(new Set(['realmkeeper.io/v1alpha1']))
    expect((await storedVersions())['users.realmkeeper.io']).toEqual(['v1alpha1', 'v1beta1'])
  })

  test('old manifests apply as before, with a warning', async () => {
    const input = JSON.stringify({ ...user('by-old-manifest'), apiVersion: 'realmkeeper.io/v1alpha1' })
    const { code, stderr } = await plane.tryKubectl(['apply', '-n', 'team', '-f', '-'], { input })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('v1alpha1 User is deprecated') })
    expect((await admin.do('GET', `${PRESENT}/users/by-old-manifest`)).spec.username).toBe('by-old-manifest')
    expect(await versionsInEtcd()).toContain('realmkeeper.io/v1beta1')
  })

  test('the command writes all resources as v1beta1 and changes nothing else', async () => {
    const generationsBefore = await generations()
    const { code, stdout, stderr } = await migrate()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await generations()).toEqual(generationsBefore)
    expect(stdout).toContain('Users: 261 written as v1beta1; v1alpha1 is no longer stored')
    expect(await versionsInEtcd()).toEqual(new Set(['realmkeeper.io/v1beta1']))
    for (const versions of Object.values(await storedVersions())) expect(versions).toEqual(['v1beta1'])
    for (const [path, { metadata, spec, status }] of before) {
      const present = await admin.do('GET', `${PRESENT}/${path}`)
      expect({ spec: present.spec, status: present.status }).toEqual({ spec, status })
      expect(present.metadata).toMatchObject({ uid: metadata.uid, generation: metadata.generation })
    }
    expect((await migrate()).stdout).toContain('Users: all are stored as v1beta1')
  })

  test('the former version can then be removed', async () => {
    for (const crd of shipped) {
      const versions = [crd.spec.versions[0]]
      await admin.do('PATCH', `${CRDS}/${crd.metadata.name}`, { spec: { versions } }, { contentType: MERGE_PATCH })
    }
    await expect.poll(async () => (await admin.call('GET', `${FORMER}/users`)).status, { timeout: 120_000 }).toBe(404)
    for (const path of before.keys()) expect((await admin.call('GET', `${PRESENT}/${path}`)).status).toBe(200)
  })
})
