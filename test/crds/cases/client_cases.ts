import { commonInvalid, condition, realmRefInvalid, realmRefUpdates, written } from './case.ts'
import type { InvalidCase, KindCases } from './case.ts'

const refusedRedirectUris: [uri: string, message: RegExp, more?: 'more'][] = [
  ['javascript:alert(1)', /the scheme must be https, http/],
  ['JavaScript:alert(1)', /the scheme must be https, http/],
  ['data:text/html,x', /the scheme must be https, http/],
  ['/callback', /the scheme must be https, http/],
  ['myapp:/callback', /the scheme must be https, http/],
  ['https://*.example.com/callback', /cannot contain a wildcard/, 'more'],
  ['https://example.com/*', /cannot contain a wildcard/],
  ['https://example.com/#callback', /cannot contain a fragment/],
  ['http://example.com/callback', /http is allowed only on a loopback host/],
  ['http://localhost.example.com/callback', /http is allowed only on a loopback host/],
  ['http://127.0.0.1@example.com/callback', /http is allowed only on a loopback host/],
  ['http://127.0.0.2.example.com/', /http is allowed only on a loopback host/],
  ['https://user@example.com/callback', /without a user part/],
  ['https:///callback', /without a user part/],
  ['https://example.com\\@evil.example.com', /without a user part/],
  ['https://example.com/a b', /does not match/],
]

const refusedOrigins = [
  '*',
  'https://*.example.com',
  'https://example.com/',
  'https://example.com/app',
  'null',
  'HTTPS://example.com',
]

export const clientCases: KindCases = {
  kind: 'Client',
  smallest: () => written('Client', 'web', { realmRef: { name: 'shop' }, clientId: 'web' }),
  valid: () =>
    written(
      'Client',
      'web',
      {
        realmRef: { name: 'shop', namespace: 'platform' },
        clientId: 'Web.App_1-a',
        name: 'The web application',
        description: 'Sells things.\nTo people.',
        enabled: true,
        type: 'Confidential',
        clientSecret: { secretRef: { name: 'web', key: 'client_secret' }, previousValidSeconds: 60 },
        redirectUris: [
          'https://example.com/callback?a=b',
          'http://localhost:3000/callback',
          'com.example.app:/callback',
        ],
        webOrigins: ['+', 'https://example.com', 'http://localhost:3000'],
        fullScopeAllowed: false,
        allowedRoles: ['reader', '_svc_dob.selfencrypt'],
        grantTypes: ['password', 'refresh_token'],
        audiences: ['orders'],
        acceptsTokensFrom: ['mobile'],
        defaultScopes: ['profile'],
        optionalScopes: ['email'],
        accessTokenLifetimeSeconds: 60,
        accessTokenType: 'JWT',
      },
      {
        observedGeneration: 1,
        secretName: 'web',
        previousSecretValidUntil: '2030-01-01T00:00:00Z',
        conditions: [{ ...condition }],
      },
    ),
  alsoValid: [
    {
      name: 'a generated secret with another name',
      change: (o) => (o.spec.clientSecret = { generate: { secretName: 'web-credentials' } }),
    },
    {
      name: 'a generated secret with only its rotation configured',
      change: (o) => (o.spec.clientSecret = { previousValidSeconds: 1 }),
    },
    {
      name: 'a public client',
      change: (o) => {
        o.spec.type = 'Public'
        delete o.spec.clientSecret
      },
    },
    {
      name: 'loopback redirects',
      change: (o) => (o.spec.redirectUris = ['http://127.0.0.1', 'http://[::1]:8080/cb', 'http://localhost?x=1']),
    },
    { name: 'a client without grants', change: (o) => (o.spec.grantTypes = []) },
    { name: 'a long name with an explicit secret name', change: (o) => (o.metadata['name'] = 'a'.repeat(253)) },
  ],
  invalid: [
    ...commonInvalid,
    ...realmRefInvalid,
    { name: 'no clientId', breakIt: (o) => delete o.spec.clientId, path: 'spec.clientId', message: /is required/ },
    {
      name: 'a clientId with invalid characters',
      breakIt: (o) => (o.spec.clientId = 'web app'),
      path: 'spec.clientId',
      message: /does not match/,
    },
    {
      name: 'a clientId of 256 characters',
      breakIt: (o) => (o.spec.clientId = 'a'.repeat(256)),
      path: 'spec.clientId',
      message: /longer than 255/,
    },
    {
      name: 'row 96: a secret in the spec',
      breakIt: (o) => (o.spec.clientSecret = { value: 'not-a-secret-any-more' }),
      path: 'spec.clientSecret.value',
      message: /^unknown field$/,
    },
    {
      name: 'row 96: a secret instead of a reference',
      breakIt: (o) => (o.spec.clientSecret = 'not-a-secret-any-more'),
      path: 'spec.clientSecret',
      message: /^must be an object$/,
    },
    {
      name: 'a public client with a secret',
      breakIt: (o) => (o.spec.type = 'Public'),
      path: 'spec.clientSecret',
      message: /Public client has no secret/,
    },
    {
      name: 'a secret both referred to and generated',
      breakIt: (o) => (o.spec.clientSecret.generate = {}),
      path: 'spec.clientSecret.generate',
      message: /only one of secretRef and generate/,
    },
    {
      name: 'a name too long for the generated secret',
      breakIt: (o) => {
        o.metadata['name'] = 'a'.repeat(247)
        delete o.spec.clientSecret
      },
      path: 'spec.clientSecret',
      message: /too long/,
    },
    ...refusedRedirectUris.map(([uri, message, more]): InvalidCase => ({
      name: `row 97: the redirect URI ${uri}`,
      breakIt: (o) => (o.spec.redirectUris = [uri]),
      path: 'spec.redirectUris[0]',
      ...(more && { more: true }),
      message,
    })),
    ...refusedOrigins.map((origin): InvalidCase => ({
      name: `the web origin ${origin}`,
      breakIt: (o) => (o.spec.webOrigins = [origin]),
      path: 'spec.webOrigins[0]',
      message: /an origin is scheme:\/\/host/,
    })),
    {
      name: 'a grant that is not served',
      breakIt: (o) => (o.spec.grantTypes = ['client_credentials']),
      path: 'spec.grantTypes[0]',
      message: /one of password, refresh_token/,
    },
    {
      name: 'a duplicate grant',
      breakIt: (o) => (o.spec.grantTypes = ['password', 'password']),
      path: 'spec.grantTypes[1]',
      message: /is equal to item/,
    },
    {
      name: 'the scope of a field in defaultScopes',
      breakIt: (o) => (o.spec.defaultScopes = ['_svc_dob.selfdecrypt']),
      path: 'spec.defaultScopes[0]',
      message: /do not list scopes/,
    },
    {
      name: 'the scope of a field in optionalScopes',
      breakIt: (o) => (o.spec.optionalScopes = ['_svc_dob.selfdecrypt']),
      path: 'spec.optionalScopes[0]',
      message: /do not list scopes/,
    },
    {
      name: 'two scopes in one word',
      breakIt: (o) => (o.spec.optionalScopes = ['profile email']),
      path: 'spec.optionalScopes[0]',
      message: /does not match/,
    },
    {
      name: 'an unknown token type',
      breakIt: (o) => (o.spec.accessTokenType = 'opaque'),
      path: 'spec.accessTokenType',
      message: /one of at\+jwt, JWT/,
    },
  ],
  updates: [
    ...realmRefUpdates,
    {
      name: 'row 92: another clientId',
      stored: () => {},
      written: (o) => (o.spec.clientId = 'other'),
      path: 'spec.clientId',
      message: /immutable/,
    },
    { name: 'another field changed', stored: () => {}, written: (o) => (o.spec.enabled = false) },
  ],
}
