import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findClient, isClientSecret, listClients } from '../../../store/clients.ts'
import type { ClientRow } from '../../../store/clients.ts'
import { insertSession } from '../../support/sessions.ts'
import { client, namespace, realm, secret } from '../manifests.ts'
import { eventually, operatorUnderTest } from '../operator_under_test.ts'
import type { OperatorUnderTest } from '../operator_under_test.ts'

const VALUE = 'a-secret-that-is-long-enough'
const REF = { clientSecret: { secretRef: { name: 'web-secret', key: 'client_secret' } } }

describe('a Client', () => {
  let operator: OperatorUnderTest
  let now = new Date()
  beforeEach(async () => {
    now = new Date()
    operator = await operatorUnderTest({ now: () => now })
    await operator.write('realm.yaml', realm('shop', { allowedNamespaces: { from: 'All' } }))
  })
  afterEach(() => operator.end())

  const rowOf = (clientId: string): Promise<ClientRow | undefined> =>
    findClient(operator.database.pool, 'shop', clientId)
  const accepts = async (
    clientId: string,
    value: string,
    which: 'secret' | 'previousSecret' = 'secret',
  ): Promise<boolean> => {
    const row = await rowOf(clientId)
    const [salt, hash] = [row?.[`${which}Salt`], row?.[`${which}Hash`]]
    return salt && hash ? isClientSecret(value, { salt, hash }) : false
  }
  const generated = async (name: string): Promise<Record<string, string>> => {
    const found = await operator.source().secrets.read({ namespace: 'default', name })
    return Object.fromEntries(Object.entries(found?.data ?? {}).map(([entry, bytes]) => [entry, bytes.toString()]))
  }
  const changes = async (): Promise<number> =>
    (await operator.rows<{ count: number }>(`select count(*)::int as count from changes where kind = 'client'`))[0]
      ?.count ?? 0

  async function logIn(clientId: string): Promise<string> {
    const sid = crypto.randomUUID()
    const soon = new Date(Date.now() + 3_600_000)
    const times = { authTime: new Date(), expiresAt: soon, idleExpiresAt: soon }
    const session = {
      realm: 'shop',
      sid,
      clientId,
      subject: 'sub',
      requestedScope: 'openid',
      refreshKid: 'kid',
      ...times,
    }
    await insertSession(operator.database.pool, session)
    return sid
  }
  const endOf = async (sid: string): Promise<string | null | undefined> =>
    (await operator.rows<{ end_reason: string | null }>('select end_reason from sessions where sid = $1', sid))[0]
      ?.end_reason

  test('gets a generated Secret, whose value is stored only as a salted hash', async () => {
    await operator.write('web.yaml', client('web'))
    await operator.start()
    await operator.untilReady('Client', 'web')
    const data = await generated('web-client')
    expect(data).toEqual({
      client_id: 'web',
      client_secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      issuer: 'http://localhost:8080/auth/realms/shop',
      token_endpoint: 'http://localhost:8080/auth/realms/shop/protocol/openid-connect/token',
    })
    expect(await accepts('web', data.client_secret ?? '')).toBe(true)
    expect(operator.find('Client', 'web')?.status).toMatchObject({ secretName: 'web-client' })
    expect(JSON.stringify(await rowOf('web'))).not.toContain(data.client_secret)
  })

  test('gets another generated Secret when the first is deleted, which is a rotation and ends no session', async () => {
    await operator.write('web.yaml', client('web', { clientSecret: { generate: {}, previousValidSeconds: 60 } }))
    await operator.start()
    await operator.untilReady('Client', 'web')
    const first = (await generated('web-client')).client_secret ?? ''
    const sid = await logIn('web')
    await operator.source().secrets.delete({ namespace: 'default', name: 'web-client' })
    await eventually(async () => expect(await accepts('web', first)).toBe(false))
    const second = (await generated('web-client')).client_secret ?? ''
    expect(await accepts('web', second)).toBe(true)
    expect(await accepts('web', first, 'previousSecret')).toBe(true)
    expect((await rowOf('web'))?.previousValidUntil).toEqual(new Date(now.getTime() + 60_000))
    expect(await endOf(sid)).toBeNull()

    // Its expiry alone removes it from the row.
    await eventually(() => expect(operator.find('Client', 'web')?.status).toHaveProperty('previousSecretValidUntil'))
    now = new Date(now.getTime() + 61_000)
    await operator.write(
      'web.yaml',
      client('web', { clientSecret: { generate: {}, previousValidSeconds: 60 }, name: 'Web' }),
    )
    await eventually(async () => expect((await rowOf('web'))?.previousSecretHash).toBeNull())
    await eventually(() =>
      expect(operator.find('Client', 'web')?.status).not.toHaveProperty('previousSecretValidUntil'),
    )
  })

  test('does not change a Secret of that name that it does not own', async () => {
    await operator.write('web.yaml', client('web'))
    await operator.write('secret.yaml', secret('web-client', { client_secret: VALUE }))
    await operator.start()
    await operator.untilReady('Client', 'web', 'False', 'SecretNotOwned')
    expect(await rowOf('web')).toBeUndefined()
    expect(await generated('web-client')).toEqual({ client_secret: VALUE })
    await operator.remove('secret.yaml')
    await operator.untilReady('Client', 'web')
  })

  test('restores the entries of its Secret, and takes another client_secret for a rotation', async () => {
    await operator.write('web.yaml', client('web'))
    await operator.start()
    await operator.untilReady('Client', 'web')
    const path = join(operator.stateDir, 'secrets', 'default', 'web-client.json')
    const manifest = JSON.parse(await readFile(path, 'utf8')) as { data: Record<string, string> }
    manifest.data.issuer = Buffer.from('http://evil.example').toString('base64')
    manifest.data.client_secret = Buffer.from(VALUE).toString('base64')
    await writeFile(path, JSON.stringify(manifest))
    await eventually(async () => expect(await accepts('web', VALUE)).toBe(true))
    await eventually(async () => expect((await generated('web-client')).issuer).toContain('localhost'))
  })

  test('row 93: waits for a referenced Secret, generates none in its place, and keeps the last good one', async () => {
    await operator.write('web.yaml', client('web', REF))
    await operator.start()
    await operator.untilReady('Client', 'web', 'False', 'SecretNotFound')
    expect(await rowOf('web')).toBeUndefined()
    await operator.write('secret.yaml', secret('web-secret', { client_secret: VALUE }))
    await operator.untilReady('Client', 'web')
    expect(await accepts('web', VALUE)).toBe(true)
    await operator.remove('secret.yaml')
    await operator.untilReady('Client', 'web', 'False', 'SecretNotFound')
    expect(await accepts('web', VALUE)).toBe(true)
    // Other edits still apply.
    await operator.write('web.yaml', client('web', { ...REF, enabled: false }))
    await eventually(async () => expect(await rowOf('web')).toMatchObject({ enabled: false }))
    expect(await accepts('web', VALUE)).toBe(true)
  })

  test.each([
    { what: 'short', value: 'fifteen-chars-x', message: 'shorter than 16' },
    { what: 'empty', value: '', message: 'shorter than 16' },
    { what: 'long', value: 'x'.repeat(5000), message: 'longer than' },
  ])('row 95: refuses a $what client secret and keeps the one before', async ({ value, message }) => {
    await operator.write('web.yaml', client('web', REF))
    await operator.write('secret.yaml', secret('web-secret', { client_secret: VALUE }))
    await operator.start()
    await operator.untilReady('Client', 'web')
    await operator.write('secret.yaml', secret('web-secret', { client_secret: value }))
    await operator.untilReady('Client', 'web', 'False', 'SecretNotFound')
    await eventually(() => expect(operator.log.map(({ msg }) => msg).join()).toContain(message))
    if (value !== '') expect(operator.condition('Client', 'web')?.message).not.toContain(value)
    expect(await accepts('web', VALUE)).toBe(true)
  })

  test('a restart writes nothing: no hash, no change', async () => {
    await operator.write('web.yaml', client('web', REF), secret('web-secret', { client_secret: VALUE }))
    await operator.write('other.yaml', client('other', { type: 'Public' }), client('third'))
    await operator.start()
    for (const name of ['web', 'other', 'third']) await operator.untilReady('Client', name)
    const before = { rows: await listClients(operator.database.pool), changes: await changes() }
    await operator.stop()
    await operator.start()
    await operator.write('fourth.yaml', client('fourth'))
    await operator.untilReady('Client', 'fourth')
    expect((await listClients(operator.database.pool)).filter(({ clientId }) => clientId !== 'fourth')).toEqual(
      before.rows,
    )
    expect(await changes()).toBe(before.changes + 1)
  })

  test('resolves what tokens carry: origins, composites, lifetimes', async () => {
    await operator.write(
      'realm.yaml',
      realm('shop', {
        roles: [
          { name: 'admin', composites: ['writer'] },
          { name: 'writer', composites: ['reader'] },
          { name: 'reader' },
        ],
      }),
    )
    await operator.write(
      'web.yaml',
      client('web', {
        type: 'Public',
        redirectUris: [
          'https://app.example/cb',
          'https://app.example/other',
          'com.example.app:/cb',
          'http://localhost:3000/x',
        ],
        webOrigins: ['+', 'https://other.example'],
        fullScopeAllowed: false,
        allowedRoles: ['admin', 'unknown'],
        accessTokenLifetimeSeconds: 60,
      }),
    )
    await operator.start()
    await operator.untilReady('Client', 'web')
    expect(await rowOf('web')).toMatchObject({
      type: 'Public',
      secretHash: null,
      settings: {
        webOrigins: ['https://app.example', 'http://localhost:3000', 'https://other.example'],
        fullScopeAllowed: false,
        allowedRoles: ['admin', 'reader', 'writer'],
        accessTokenLifetimeSeconds: 60,
        accessTokenType: 'at+jwt',
        grantTypes: ['password', 'refresh_token'],
        defaultScopes: ['profile', 'email'],
      },
    })
    // Narrower composites take effect at once.
    await operator.write('realm.yaml', realm('shop', { roles: [{ name: 'admin' }, { name: 'unknown' }] }))
    await eventually(async () => expect((await rowOf('web'))?.settings.allowedRoles).toEqual(['admin', 'unknown']))
  })

  test('row 93: an audience of another namespace must list the client, and the rest is registered without it', async () => {
    const elsewhere = { namespace: 'team' }
    const ref = { realmRef: { name: 'shop', namespace: 'default' }, type: 'Public' }
    await operator.write('ns.yaml', namespace('team'))
    await operator.write('api.yaml', client('api', ref, elsewhere))
    await operator.write('web.yaml', client('web', { type: 'Public', audiences: ['api', 'no-client', 'near'] }))
    await operator.write('near.yaml', client('near', { type: 'Public' }))
    await operator.start()
    await operator.untilReady('Client', 'web', 'False', 'AudienceNotAllowed')
    expect((await rowOf('web'))?.settings.audiences).toEqual(['no-client', 'near'])
    await operator.write('api.yaml', client('api', { ...ref, acceptsTokensFrom: ['web'] }, elsewhere))
    await operator.untilReady('Client', 'web')
    expect((await rowOf('web'))?.settings.audiences).toEqual(['api', 'no-client', 'near'])
    await operator.write('api.yaml', client('api', { ...ref, acceptsTokensFrom: ['else'] }, elsewhere))
    await operator.untilReady('Client', 'web', 'False', 'AudienceNotAllowed')
    expect((await rowOf('web'))?.settings.audiences).toEqual(['no-client', 'near'])
  })

  test('row 94: a client id has one owner, then the next claimant; the sessions of the first end', async () => {
    await operator.write('b.yaml', client('b', { clientId: 'same', type: 'Public' }))
    await operator.start()
    await operator.untilReady('Client', 'b')
    await operator.write('a.yaml', client('a', { clientId: 'same', type: 'Public' }))
    await operator.untilReady('Client', 'a', 'False', 'ClientIdTaken')
    expect(operator.condition('Client', 'a')?.message).toContain('default/b')
    const sid = await logIn('same')
    await operator.remove('b.yaml')
    await operator.untilReady('Client', 'a')
    expect((await rowOf('same'))?.name).toBe('a')
    expect(await endOf(sid)).toBe('client_removed')
  })

  test('two Clients that name each other as audiences are both registered', async () => {
    await operator.write('a.yaml', client('a', { type: 'Public', audiences: ['b'] }))
    await operator.write('b.yaml', client('b', { type: 'Public', audiences: ['a'] }))
    await operator.start()
    await operator.untilReady('Client', 'a')
    await operator.untilReady('Client', 'b')
  })

  test('a secret that another client wrote into the row is replaced', async () => {
    await operator.write(
      'web.yaml',
      client('web', { ...REF, clientSecret: { ...REF.clientSecret, previousValidSeconds: 600 } }),
    )
    await operator.write('secret.yaml', secret('web-secret', { client_secret: VALUE }))
    await operator.start()
    await operator.untilReady('Client', 'web')
    await operator.stop()
    await operator.database.pool.query(`update clients set secret_hash = sha256('x'), secret_source = 'x'`)
    await operator.start()
    await eventually(async () => expect(await accepts('web', VALUE)).toBe(true))
  })
})
