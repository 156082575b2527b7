import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordingFetch } from '../support/canary.ts'
import { realmKeyring } from '../support/realm_keyring.ts'
import { addAcme, ALICE_PASSWORD, SHOP_SECRET, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const INSECURE = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: recordingFetch }
const ALICE = { username: 'alice', password: ALICE_PASSWORD, scope: 'openid' }

describe.for(['RS256', 'ES256'] as const)('oauth4webapi, %s', (algorithm) => {
  let server: TestServer
  let as: oauth.AuthorizationServer
  const client: oauth.Client = { client_id: 'shop', id_token_signed_response_alg: algorithm }
  const secret = oauth.ClientSecretBasic(SHOP_SECRET)

  beforeAll(async () => {
    const keyring = await realmKeyring({ algorithms: [algorithm] })
    server = await startServer({
      async prepare(world) {
        await addAcme({ ...world, addRealm: (row) => world.addRealm(row, keyring) })
      },
    })
    as = await discover('oidc')
  })
  afterAll(() => server?.stop())

  async function discover(how: 'oidc' | 'oauth2'): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(`${server.url}/auth/realms/acme`)
    return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: how, ...INSECURE }))
  }

  async function login(): Promise<oauth.TokenEndpointResponse> {
    const response = await oauth.genericTokenEndpointRequest(as, client, secret, 'password', ALICE, INSECURE)
    return oauth.processGenericTokenEndpointResponse(as, client, response)
  }

  async function refresh(refreshToken: string): Promise<oauth.TokenEndpointResponse> {
    const response = await oauth.refreshTokenGrantRequest(as, client, secret, refreshToken, INSECURE)
    const tokens = await oauth.processRefreshTokenResponse(as, client, response)
    // The library verifies the signature of an ID token only on request (TLS protects it).
    await oauth.validateApplicationLevelSignature(as, response, INSECURE)
    return tokens
  }

  async function introspect(token: string): Promise<oauth.IntrospectionResponse> {
    const response = await oauth.introspectionRequest(as, client, secret, token, INSECURE)
    return oauth.processIntrospectionResponse(as, client, response)
  }

  test('both discovery documents are of this issuer', async () => {
    expect(await discover('oauth2')).toEqual(await discover('oidc'))
  })

  test('login and refresh, the signature of the ID token checked', async () => {
    const tokens = await login()
    const refreshed = await refresh(tokens.refresh_token!)
    expect(oauth.getValidatedIdTokenClaims(refreshed)).toMatchObject({ aud: 'shop', preferred_username: 'alice' })
  })

  test('the access token is a JWT access token of RFC 9068', async () => {
    const { access_token: token } = await login()
    const request = new Request('https://api.example/orders', { headers: { authorization: `Bearer ${token}` } })
    const claims = await oauth.validateJwtAccessToken(as, request, 'shop', INSECURE)
    expect(claims).toMatchObject({ client_id: 'shop', scope: 'openid profile email' })
    const [head, body, signature] = token.split('.')
    const forged = new Request('https://api.example/orders', {
      headers: {
        authorization: `Bearer ${head}.${body}.${signature!.startsWith('A') ? 'B' : 'A'}${signature!.slice(1)}`,
      },
    })
    await expect(oauth.validateJwtAccessToken(as, forged, 'shop', INSECURE)).rejects.toThrow()
  })

  test('introspection and userinfo', async () => {
    const { access_token: token } = await login()
    const introspected = await introspect(token)
    expect(introspected).toMatchObject({ active: true, username: 'alice' })
    const response = await oauth.userInfoRequest(as, client, token, INSECURE)
    const userinfo = await oauth.processUserInfoResponse(as, client, introspected.sub!, response)
    expect(userinfo.email).toBe('alice@example.test')
  })

  test('revocation', async () => {
    const tokens = await login()
    const response = await oauth.revocationRequest(as, client, secret, tokens.refresh_token!, INSECURE)
    await oauth.processRevocationResponse(response)
    expect(await introspect(tokens.access_token)).toEqual({ active: false })
  })

  test('what is refused is seen as what it is', async () => {
    const wrong = await oauth.genericTokenEndpointRequest(
      as,
      client,
      secret,
      'password',
      { ...ALICE, password: 'wrong' },
      INSECURE,
    )
    // With a challenge in the answer, the library reports the challenge and not the error.
    await expect(oauth.processGenericTokenEndpointResponse(as, client, wrong)).rejects.toMatchObject({
      error: 'invalid_grant',
      status: 401,
    })
    await expect(refresh('garbage')).rejects.toMatchObject({
      error: 'invalid_grant',
      error_description: 'Invalid refresh token',
    })
    const userinfo = await oauth.userInfoRequest(as, client, 'garbage', INSECURE)
    await expect(oauth.processUserInfoResponse(as, client, oauth.skipSubjectCheck, userinfo)).rejects.toMatchObject({
      cause: [{ parameters: { error: 'invalid_token' } }],
    })
  })
})
