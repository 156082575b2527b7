import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordSecrets } from '../../support/canary.ts'
import { CLIENT, clusterWorld, FIELD_ROLES, FIELD_SCOPE, quickstartObjects, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'

const DOB = { field: 'dateOfBirth', value: '1990-04-01' }

describe('the quickstart in a cluster', () => {
  let world: ClusterWorld
  beforeAll(async () => {
    world = await clusterWorld()
  })
  afterAll(() => world?.end())

  const kubectl = (...args: string[]): Promise<string> => world.plane.kubectl(args, { as: world.author })

  /** As the documents show it, with kubectl alone. */
  async function approveByCondition(name: string): Promise<void> {
    const found = await world.find('roleassignments', name)
    const decision = {
      type: 'Approved',
      status: 'True',
      reason: 'Checked',
      message: 'seen and allowed',
      lastTransitionTime: new Date().toISOString(),
      decidedBy: world.approver.name,
      observedGeneration: found?.metadata.generation,
      observedUID: found?.metadata.uid,
    }
    const patch = JSON.stringify({ status: { conditions: [...(found?.status?.conditions ?? []), decision] } })
    const args = ['patch', 'roleassignment', name, '-n=quickstart', '--subresource=status', '--type=merge']
    await world.plane.kubectl([...args, `--patch=${patch}`], { as: world.approver })
  }

  test('everything is ready once both assignments are approved, one by the command, one by a patch of the status', async () => {
    await world.applyQuickstart()
    for (const [plural, name] of quickstartObjects()) {
      if (plural === 'roleassignments') await world.untilReady(plural, name, 'False', 'PendingApproval')
      else await world.untilReady(plural, name)
    }
    const before = await until(async () => {
      const answer = await world.login('alice', { scope: FIELD_SCOPE })
      expect(answer.status).toBe(200)
      return answer
    })
    expect(world.rolesIn(before.body.access_token)).toEqual([])
    expect(await world.field('encrypt', before.body.access_token, DOB)).toMatchObject({ status: 403 })

    await world.approve('alice-realm-admin')
    await world.untilReady('roleassignments', 'alice-realm-admin', 'True', 'Granted')
    await approveByCondition('quickstart-dob')
    for (const [plural, name] of quickstartObjects()) await world.untilReady(plural, name)

    await until(async () => {
      const { body } = await world.login('bob', { scope: FIELD_SCOPE })
      expect(world.rolesIn(body.access_token)).toEqual(expect.arrayContaining(FIELD_ROLES))
      const { status, body: sealed } = await world.field('encrypt', body.access_token, DOB)
      expect(status).toBe(200)
      const opened = await world.field('decrypt', body.access_token, {
        field: 'dateOfBirth',
        ciphertext: sealed.ciphertext,
      })
      expect(opened.body).toMatchObject({ value: DOB.value })
    })
  })

  test('row 128: `kubectl get` shows the state, `kubectl explain` reads well, and `kubectl wait` ends', async () => {
    const realms = await kubectl('get', 'realm', '-n=quickstart')
    expect(realms.split('\n')[0]).toMatch(/^NAME +READY +REASON +ENCRYPTION +ISSUER +AGE$/)
    expect(realms).toMatch(/^quickstart +True +Available +True +http:\/\/127\.0\.0\.1:\d+\/auth\/realms\/quickstart /m)
    expect(await kubectl('get', 'rkc,rku', '-n=quickstart')).toMatch(
      /client\..*\/shop +shop +quickstart +Confidential +True/,
    )
    const assignments = await kubectl('get', 'ra', '-n=quickstart')
    expect(assignments).toMatch(/^alice-realm-admin +alice +\["svc-realm-admin"\] +platform-team +True +Granted/m)
    expect(await kubectl('get', 'realmkeeper', '-n=quickstart', '-o=name')).toContain('user.realmkeeper.io/alice')
    const explained = await kubectl('explain', 'realm.spec.fieldEncryption.fields')
    expect(explained).toMatch(/tag\t<string>/)
    expect(explained).toMatch(/name\t<string> -required-/)
    await kubectl('wait', 'realm/quickstart', '-n=quickstart', '--for=condition=Ready', '--timeout=5s')
  })

  describe('an approved access', () => {
    const NICKNAME = { field: 'nickname', value: 'Bobby' }
    const roles = ['_svc_nick.selfdecrypt', '_svc_nick.selfencrypt']
    const scope = 'openid _svc_nick.selfencrypt _svc_nick.selfdecrypt'

    beforeAll(async () => {
      const fields = [
        { name: 'dateOfBirth', tag: 'dob' },
        { name: 'nickname', tag: 'nick' },
      ]
      await world.patch('realms', 'quickstart', { spec: { fieldEncryption: { fields } } })
      await world.untilReady('realms', 'quickstart')
    })

    /** Requests the roles of the field for bob; resolves with a token that has them, and a ciphertext. */
    async function grant(name: string, spec: object): Promise<{ token: string; ciphertext: string }> {
      const manifest = {
        apiVersion: 'realmkeeper.io/v1alpha1',
        kind: 'RoleAssignment',
        metadata: { name, namespace: 'quickstart' },
        spec: {
          realmRef: { name: 'quickstart' },
          subject: { kind: 'User', name: 'bob' },
          roles,
          requestedBy: 'platform-team',
          ...spec,
        },
      }
      await world.plane.kubectl(['apply', '-f', '-'], { as: world.author, input: JSON.stringify(manifest) })
      await world.untilReady('roleassignments', name, 'False', 'PendingApproval')
      await world.approve(name)
      return until(async () => {
        const { body } = await world.login('bob', { scope })
        const token = body.access_token ?? ''
        const sealed = await world.field('encrypt', token, NICKNAME)
        expect(sealed.status).toBe(200)
        return { token, ciphertext: sealed.body.ciphertext ?? '' }
      })
    }

    /** In new tokens, in the introspection of an old token, and in what the old token may decrypt. */
    async function untilGone({ token, ciphertext }: { token: string; ciphertext: string }): Promise<void> {
      await until(async () => {
        const decrypted = await world.field('decrypt', token, { field: 'nickname', ciphertext })
        expect(decrypted.status).toBe(403)
        const { body } = await world.post('/token/introspect', { ...CLIENT, token })
        expect(body).toMatchObject({ active: true, realm_access: { roles: expect.any(Array) } })
        expect(JSON.stringify(body.realm_access)).not.toContain('_svc_nick.selfdecrypt')
        const fresh = await world.login('bob', { scope })
        expect(world.rolesIn(fresh.body.access_token)).not.toContain('_svc_nick.selfdecrypt')
      })
    }

    test('ends with its time', async () => {
      const expiresAt = new Date(Date.now() + 8_000).toISOString().replace(/\.\d+/, '')
      const granted = await grant('bob-for-a-while', { expiresAt })
      await untilGone(granted)
      await world.untilReady('roleassignments', 'bob-for-a-while', 'False', 'Expired')
      await kubectl('delete', 'roleassignment', 'bob-for-a-while', '-n=quickstart')
    })

    test('row 107: ends for the roles that an edit removes, and stays for the others', async () => {
      const granted = await grant('bob-nick', {})
      await world.patch('roleassignments', 'bob-nick', { spec: { roles: ['_svc_nick.selfencrypt'] } })
      await untilGone(granted)
      const { body } = await world.login('bob', { scope })
      expect(world.rolesIn(body.access_token)).toContain('_svc_nick.selfencrypt')
      await kubectl('delete', 'roleassignment', 'bob-nick', '-n=quickstart')
    })

    test('row 110: ends when the assignment is deleted, and does not return with one of the same name', async () => {
      const granted = await grant('bob-nick', {})
      await kubectl('delete', 'roleassignment', 'bob-nick', '-n=quickstart', '--timeout=30s')
      await untilGone(granted)
      const again = await grant('bob-nick', {})
      expect(again.token).not.toBe('')
    })
  })

  test('the server follows each change: a password, a disabled user, a deleted user, a client', async () => {
    const REFUSED = { error: 'invalid_grant' }
    recordSecrets('another-password-2')
    const password = Buffer.from('another-password-2').toString('base64')
    await kubectl('patch', 'secret', 'bob-password', '-n=quickstart', `--patch={"data":{"password":"${password}"}}`)
    await until(async () => expect(await world.login('bob', {}, 'another-password-2')).toMatchObject({ status: 200 }))
    expect((await world.login('bob')).body).toMatchObject(REFUSED)

    await world.patch('users', 'bob', { spec: { enabled: false } })
    await until(async () => expect((await world.login('bob', {}, 'another-password-2')).body).toMatchObject(REFUSED))
    await world.patch('users', 'bob', { spec: { enabled: true } })
    await until(async () => expect((await world.login('bob', {}, 'another-password-2')).status).toBe(200))
    const { body } = await world.login('bob', {}, 'another-password-2')
    await kubectl('delete', 'user.realmkeeper.io', 'bob', '-n=quickstart', '--timeout=30s')
    await until(async () => expect((await world.login('bob', {}, 'another-password-2')).body).toMatchObject(REFUSED))
    const refresh = { ...CLIENT, grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '' }
    expect((await world.post('/token', refresh)).body).toMatchObject(REFUSED)

    await world.patch('clients', 'shop', { spec: { enabled: false } })
    await until(async () => expect((await world.login('alice')).status).toBe(401))
  })

  test('servers may read the live keyrings, and no other Secret', async () => {
    const server = await world.plane.serviceAccount('realmkeeper', 'server')
    const secrets = '/api/v1/namespaces/realmkeeper/secrets'
    expect((await server.call('GET', `${secrets}/realm-quickstart-keyring`)).status).toBe(200)
    for (const path of [secrets, `${secrets}/another`, '/api/v1/namespaces/default/secrets/x']) {
      expect(await server.call('GET', path)).toMatchObject({ status: 403 })
    }
  })

  const rowsLeft = async (): Promise<unknown> => {
    const tables = ['realms', 'clients', 'users', 'granted_roles']
    const counts = tables.map((table) => `(select count(*)::int from ${table}) as ${table}`)
    const { rows } = await world.database.pool.query(`select ${counts.join(', ')}`)
    return rows[0]
  }
  const NOTHING = { realms: 0, clients: 0, users: 0, granted_roles: 0 }

  test('row 117: `kubectl delete -f` ends in any order, and only the keys are left', async () => {
    await kubectl('delete', '-f', 'examples/quickstart', '--ignore-not-found', '--timeout=60s')
    await until(async () => expect(await rowsLeft()).toEqual(NOTHING))
    await until(async () => expect((await world.login('alice')).status).toBe(404))
    const keyring = '/api/v1/namespaces/realmkeeper/secrets/realm-quickstart-keyring'
    expect((await world.plane.admin.call('GET', keyring)).status).toBe(200)
  })

  test('row 117: the deletion of a namespace with all its resources ends', async () => {
    await world.applyQuickstart()
    await world.untilReady('users', 'alice')
    await until(async () => expect((await world.login('alice')).status).toBe(200))
    await kubectl('delete', 'namespace', 'quickstart', '--timeout=60s')
    await until(async () => expect(await rowsLeft()).toEqual(NOTHING))
    await until(async () => expect((await world.login('alice')).status).toBe(404))
  })
})
