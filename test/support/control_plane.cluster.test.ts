import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane } from './control_plane.ts'
import type { ControlPlane } from './control_plane.ts'

describe('a control plane for tests', () => {
  let plane: ControlPlane
  beforeAll(async () => {
    plane = await startControlPlane()
  })
  afterAll(() => plane?.stop())

  test('reports the version that go.mod pins', async () => {
    const { body } = await plane.admin.call('GET', '/version')
    expect(body.gitVersion).toMatch(/^v1\.\d\d\.\d+$/)
  })

  test('serves the four kinds', async () => {
    const stdout = await plane.kubectl(['api-resources', '--api-group=realmkeeper.io', '-o', 'name'])
    expect(stdout.split('\n').filter(Boolean).toSorted()).toEqual([
      'clients.realmkeeper.io',
      'realms.realmkeeper.io',
      'roleassignments.realmkeeper.io',
      'users.realmkeeper.io',
    ])
  })

  test('identifies users by their certificates, and gives them no rights', async () => {
    const ann = plane.user('ann', ['approvers'])
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const { status } = await ann.do('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review)
    expect(status.userInfo).toMatchObject({ username: 'ann', groups: ['approvers', 'system:authenticated'] })
    expect((await ann.call('GET', '/apis/realmkeeper.io/v1alpha1/users')).status).toBe(403)
  })

  test('issues tokens for ServiceAccounts', async () => {
    const account = await plane.serviceAccount('default', 'robot')
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const { status } = await account.do('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review)
    expect(status.userInfo.username).toBe('system:serviceaccount:default:robot')
  })

  test('keeps its objects when it is killed and started again', async () => {
    await plane.admin.do('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'kept' } })
    await plane.kill()
    await plane.start()
    expect((await plane.admin.call('GET', '/api/v1/namespaces/default/configmaps/kept')).status).toBe(200)
  })
})
