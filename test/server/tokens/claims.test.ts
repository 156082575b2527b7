import { describe, expect, test } from 'vitest'
import { isFor, readAccessTokenClaims } from '../../../server/tokens/claims.ts'

const payload = {
  iss: 'http://localhost:8080/auth/realms/acme',
  sub: '7d1c',
  aud: ['shop', 'billing'],
  azp: 'shop',
  exp: 1_800_000_300,
  iat: 1_800_000_000,
  jti: 'j1',
  sid: '11111111-2222-3333-4444-555555555555',
  typ: 'Bearer',
  scope: 'openid profile',
  realm_access: { roles: ['reader'] },
}

test('reads what an access token says', () => {
  expect(readAccessTokenClaims(payload)).toEqual({
    iss: payload.iss,
    sub: '7d1c',
    aud: ['shop', 'billing'],
    azp: 'shop',
    exp: 1_800_000_300,
    iat: 1_800_000_000,
    jti: 'j1',
    sid: payload.sid,
    scope: ['openid', 'profile'],
    roles: ['reader'],
  })
})

test('a token without roles has none, one without scope words neither', () => {
  const { realm_access: _, ...withoutRoles } = payload
  expect(readAccessTokenClaims({ ...withoutRoles, scope: '' })).toMatchObject({ roles: [], scope: [] })
})

describe('row 44: a claim of another type makes it no access token', () => {
  test.for<[string, Record<string, unknown>]>([
    ['exp as text', { exp: '1800000300' }],
    ['exp as a fraction', { exp: 1_800_000_300.5 }],
    ['exp beyond every number', { exp: Number('1e400') }],
    ['exp beyond exact integers', { exp: 2 ** 53 }],
    ['exp negative', { exp: -1 }],
    ['exp absent', { exp: undefined }],
    ['exp null', { exp: null }],
    ['exp in a list', { exp: [1_800_000_300] }],
    ['iat as text', { iat: '1800000000' }],
    ['iat absent', { iat: undefined }],
    ['sub as number', { sub: 7 }],
    ['sub empty', { sub: '' }],
    ['iss as list', { iss: [payload.iss] }],
    ['azp absent', { azp: undefined }],
    ['jti absent', { jti: undefined }],
    ['sid that is no session id', { sid: 'session' }],
    ['sid in capitals', { sid: 'AAAAAAAA-2222-3333-4444-555555555555' }],
    ['aud as object', { aud: { shop: true } }],
    ['aud with a number', { aud: ['shop', 7] }],
    ['scope as list', { scope: ['openid'] }],
    ['scope absent', { scope: undefined }],
    ['roles as text', { realm_access: { roles: 'reader' } }],
    ['roles with a number', { realm_access: { roles: [1] } }],
    ['realm_access without roles', { realm_access: {} }],
    ['realm_access null', { realm_access: null }],
    ['typ of an ID token', { typ: 'ID' }],
    ['typ of a refresh token', { typ: 'Refresh' }],
    ['typ absent', { typ: undefined }],
    ['typ in small letters', { typ: 'bearer' }],
  ])('%s', ([, claim]) => {
    expect(readAccessTokenClaims({ ...payload, ...claim })).toBeUndefined()
  })
})

test('a token is for the client that got it and for its audience', () => {
  const claims = readAccessTokenClaims(payload)!
  expect(['shop', 'billing', 'other', 'sho'].map((id) => isFor(claims, id))).toEqual([true, true, false, false])
  expect(isFor({ ...claims, azp: 'other', aud: 'shop' }, 'shop')).toBe(true)
  // A text is one audience, not a place to look for parts.
  expect(isFor({ ...claims, azp: 'other', aud: 'shop' }, 'sho')).toBe(false)
})
