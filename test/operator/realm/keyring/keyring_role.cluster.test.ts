import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyringRole, rulesFor, withReadableKeyrings } from '../../../../operator/realm/keyring/keyring_role.ts'
import type { KeyringRole } from '../../../../operator/realm/keyring/keyring_role.ts'
import { createApiClient } from '../../../../kubernetes/api_client.ts'
import { kubeconfigAccess } from '../../../../kubernetes/kubeconfig_access.ts'
import type { DesiredSecret, SecretAccess } from '../../../../operator/source/resource_source.ts'
import { processClock } from '../../../../kubernetes/clock.ts'
import { createLog } from '../../../../process/log.ts'
import { startControlPlane } from '../../../support/control_plane.ts'
import type { ControlPlane } from '../../../support/control_plane.ts'
import { MERGE_PATCH } from '../../../support/control_plane/account.ts'

const ROLE = '/apis/rbac.authorization.k8s.io/v1/namespaces/keys/roles/realmkeeper-keyrings'

describe('the Role that names the live keyrings', () => {
  let plane: ControlPlane
  const client = (): ReturnType<typeof createApiClient> =>
    createApiClient({ access: kubeconfigAccess({ file: plane.admin.kubeconfig }), clock: processClock })
  let time = 0
  const logged: string[] = []
  let role: KeyringRole
  beforeAll(async () => {
    plane = await startControlPlane({ crds: false })
    await plane.admin.do('POST', '/api/v1/namespaces', { metadata: { name: 'keys' } })
    role = keyringRole({
      client: client(),
      namespace: 'keys',
      clock: { now: () => time },
      log: createLog({ name: 'test', level: 'debug', destination: { write: (line) => void logged.push(line) } }),
    })
  })
  afterAll(() => plane?.stop())

  const rules = async (): Promise<unknown> => (await plane.admin.do('GET', ROLE)).rules ?? []

  test('names are added, at once or one after another', async () => {
    await Promise.all([role.allow('realm-a-keyring'), role.allow('realm-b-keyring')])
    await role.allow('realm-a-keyring')
    expect(await rules()).toEqual(rulesFor(['realm-a-keyring', 'realm-b-keyring']))
  })

  test('keyrings of deleted realms are removed; one added within the last minute stays, although its realm has no row yet', async () => {
    time = 120_000
    await role.allow('realm-c-keyring')
    await role.keepOnly(['realm-a-keyring'])
    expect(await rules()).toEqual(rulesFor(['realm-a-keyring', 'realm-c-keyring']))
    time = 240_000
    await role.keepOnly([])
    expect(await rules()).toEqual([])
    await role.keepOnly(['realm-a-keyring'])
    expect(await rules()).toEqual(rulesFor(['realm-a-keyring']))
  })

  test('a Role that another client changed is restored', async () => {
    const anything = { rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['*'] }] }
    await plane.admin.do('PATCH', ROLE, anything, { contentType: MERGE_PATCH })
    await role.keepOnly(['realm-a-keyring'])
    expect(await rules()).toEqual(rulesFor(['realm-a-keyring']))
    await plane.admin.do('DELETE', ROLE)
    await role.keepOnly(['realm-a-keyring'])
    expect(await rules()).toEqual(rulesFor(['realm-a-keyring']))
  })

  test('a keyring is readable before it is created; other Secrets are not in the Role', async () => {
    const order: string[] = []
    const secrets: SecretAccess = {
      version: () => undefined,
      read: async () => undefined,
      create: async ({ name }) => {
        order.push(`${name}: ${JSON.stringify(await rules()).includes(name)}`)
        return { uid: '1', resourceVersion: '1' }
      },
      update: async () => ({ uid: '1', resourceVersion: '1' }),
      delete: async () => undefined,
    }
    const readable = withReadableKeyrings(secrets, role, 'keys')
    const secret = (name: string, namespace: string, label: string): DesiredSecret => {
      return { namespace, name, labels: { 'realmkeeper.io/keyring': label }, data: {} }
    }
    await readable.create(secret('realm-new-keyring', 'keys', 'true'))
    await readable.create(secret('shop-client', 'keys', 'false'))
    await readable.create(secret('elsewhere', 'shop', 'true'))
    expect(order).toEqual(['realm-new-keyring: true', 'shop-client: false', 'elsewhere: false'])
  })
})
