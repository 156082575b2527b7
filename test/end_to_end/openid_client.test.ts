import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordingFetch } from '../support/canary.ts'
import { eventually } from '../support/eventually.ts'
import { realmKeyring } from '../support/realm_keyring.ts'
import { addAcme, ALICE_PASSWORD, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

// A secret that form encoding changes.
const SECRET = 'secret with + % & : / é'
const ALICE = { username: 'alice', password: ALICE_PASSWORD, scope: 'openid' }

describe.for(['RS256', 'ES256'] as const)('openid-client, %s', (algorithm) => {
  let server: TestServer
  let issuer: URL
  beforeAll(async () => {
    const keyring = await realmKeyring({ algorithms: [algorithm] })
    server = await startServer({
      async prepare(world) {
        await addAcme({ ...world, addRealm: (row) => world.addRealm(row, keyring) })
        await world.addClient({ clientId: 'encoded' }, SECRET)
      },
    })
    issuer = new URL(`${server.url}/auth/realms/acme`)
  })
  afterAll(() => server?.stop())

  const discover = async (clientId: string, authentication: openid.ClientAuth, how: 'oidc' | 'oauth2' = 'oidc') => {
    const config = await openid.discovery(
      issuer,
      clientId,
      { id_token_signed_response_alg: algorithm },
      authentication,
      { algorithm: how, execute: [openid.allowInsecureRequests], [openid.customFetch]: recordingFetch },
    )
    // Verifies signatures of ID tokens, which TLS already protects.
    openid.enableNonRepudiationChecks(config)
    return config
  }
  const confidential = () => discover('encoded', openid.ClientSecretBasic(SECRET))

  test('discovers the realm, by either document', async () => {
    for (const how of ['oidc', 'oauth2'] as const) {
      const config = await discover('encoded', openid.ClientSecretBasic(SECRET), how)
      expect(config.serverMetadata()).toMatchObject({
        issuer: issuer.href,
        token_endpoint: `${issuer.href}/protocol/openid-connect/token`,
        id_token_signing_alg_values_supported: [algorithm],
      })
    }
  })

  test.for<[string, string, () => openid.ClientAuth]>([
    ['Basic', 'encoded', () => openid.ClientSecretBasic(SECRET)],
    ['post', 'encoded', () => openid.ClientSecretPost(SECRET)],
    ['none', 'app', () => openid.None()],
  ])('logs in and refreshes, client authentication %s', async ([, clientId, authentication]) => {
    const config = await discover(clientId, authentication())
    const tokens = await openid.genericGrantRequest(config, 'password', ALICE)
    expect(tokens.token_type).toBe('bearer')
    expect(tokens.expiresIn()).toBeGreaterThan(290)
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!)
    // The library checks the signature, iss, aud, azp, exp and iat.
    expect(refreshed.claims()).toMatchObject({ iss: issuer.href, aud: clientId, preferred_username: 'alice' })
    expect(refreshed.access_token).not.toBe(tokens.access_token)
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
  })

  test('the refresh grant as a generic grant request', async () => {
    const config = await confidential()
    const { refresh_token: first } = await openid.genericGrantRequest(config, 'password', ALICE)
    const { refresh_token: second } = await openid.genericGrantRequest(config, 'refresh_token', {
      refresh_token: first!,
    })
    expect(second).toBeTypeOf('string')
    await expect(openid.genericGrantRequest(config, 'refresh_token', { refresh_token: first! })).rejects.toMatchObject({
      error: 'invalid_grant',
      error_description: 'Refresh token reused',
      status: 400,
    })
  })

  test('sees who the user is', async () => {
    const config = await confidential()
    const { access_token: token } = await openid.genericGrantRequest(config, 'password', ALICE)
    const introspected = await openid.tokenIntrospection(config, token)
    expect(introspected).toMatchObject({ active: true, username: 'alice', client_id: 'encoded' })
    const userinfo = await openid.fetchUserInfo(config, token, introspected.sub!)
    expect(userinfo).toMatchObject({ sub: introspected.sub, name: 'Alice Ames', email: 'alice@example.test' })
  })

  test.for(['access_token', 'refresh_token'] as const)('revokes by the %s', async (kind) => {
    const config = await confidential()
    const tokens = await openid.genericGrantRequest(config, 'password', ALICE)
    await openid.tokenRevocation(config, tokens[kind]!, { token_type_hint: kind })
    expect(await openid.tokenIntrospection(config, tokens.access_token)).toEqual({ active: false })
    await expect(openid.refreshTokenGrant(config, tokens.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
      error_description: 'Session not active',
    })
    await expect(openid.fetchUserInfo(config, tokens.access_token, openid.skipSubjectCheck)).rejects.toMatchObject({
      cause: [{ scheme: 'bearer', parameters: { realm: 'acme', error: 'invalid_token' } }],
    })
  })

  test('understands what is refused', async () => {
    const config = await confidential()
    await expect(openid.genericGrantRequest(config, 'password', { ...ALICE, password: 'wrong' })).rejects.toMatchObject(
      { error: 'invalid_grant', error_description: 'Invalid user credentials', status: 401 },
    )
    const wrong = await discover('encoded', openid.ClientSecretBasic('a secret that is another'))
    await expect(openid.genericGrantRequest(wrong, 'password', ALICE)).rejects.toMatchObject({
      cause: [{ scheme: 'basic', parameters: { realm: 'acme' } }],
    })
    const posted = await discover('encoded', openid.ClientSecretPost('a secret that is another'))
    await expect(openid.genericGrantRequest(posted, 'password', ALICE)).rejects.toMatchObject({
      error: 'invalid_client',
      status: 401,
    })
  })

  test('refuses an ID token whose key is not in certs', async () => {
    await server.addRealm({ realm: 'other' }, await realmKeyring({ realm: 'other', algorithms: [algorithm] }))
    const others = `${server.url}/auth/realms/other/protocol/openid-connect/certs`
    await eventually(async () => expect((await fetch(others)).status).toBe(200))
    const config = await confidential()
    const confused = new openid.Configuration(
      Object.assign(config.serverMetadata(), { jwks_uri: others }),
      'encoded',
      { id_token_signed_response_alg: algorithm },
      openid.ClientSecretBasic(SECRET),
    )
    openid.allowInsecureRequests(confused)
    openid.enableNonRepudiationChecks(confused)
    await expect(openid.genericGrantRequest(confused, 'refresh_token', await grant(config))).rejects.toThrow(
      'no applicable keys found',
    )
  })
})

async function grant(config: openid.Configuration): Promise<{ refresh_token: string }> {
  const { refresh_token: token } = await openid.genericGrantRequest(config, 'password', ALICE)
  if (token === undefined) throw new Error('no refresh token')
  return { refresh_token: token }
}
