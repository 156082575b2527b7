import { describe, expect, test } from 'vitest'
import { OAuthError } from '../../../server/http/oauth_error.ts'
import { bearerToken, insufficientScope, invalidToken } from '../../../server/tokens/bearer.ts'
import { realmRow } from '../../support/rows.ts'

const realm = { name: realmRow().realm }
const request = (authorization?: string, form: Record<string, string> = {}, query = '') => ({
  realm,
  authorization,
  form,
  query,
})

function refusal(work: () => unknown): [number, string, string | undefined] {
  try {
    work()
  } catch (error) {
    if (error instanceof OAuthError) return [error.status, error.error, error.headers['WWW-Authenticate']]
    throw error
  }
  throw new Error('nothing was refused')
}

test.for<[string, ReturnType<typeof request>]>([
  ['in the header', request('Bearer abc')],
  ['any letter case of the scheme', request('bEARER abc')],
  ['after several spaces', request('Bearer    abc ')],
  ['in the form', request(undefined, { access_token: 'abc' })],
  ['in the form, with a header of another scheme', request('Basic eDp5', { access_token: 'abc' })],
])('a token %s', ([, given]) => {
  expect(bearerToken(given)).toBe('abc')
})

describe('row 46: no token, two of them, or one in the query', () => {
  test.for<[string, ReturnType<typeof request>]>([
    ['nothing', request()],
    ['an empty header', request('')],
    ['the scheme alone', request('Bearer')],
    ['the scheme and spaces', request('Bearer   ')],
    ['another scheme', request('Basic eDp5')],
    ['a scheme that begins like it', request('Bearerabc')],
  ])('%s: 401 without an error in the challenge', ([, given]) => {
    // RFC 6750 section 3.1: a caller without a token learns only how to send one.
    expect(refusal(() => bearerToken(given))).toEqual([401, 'invalid_token', 'Bearer realm="acme"'])
  })

  test.for<[string, ReturnType<typeof request>]>([
    ['header and form', request('Bearer abc', { access_token: 'abc' })],
    ['query', request(undefined, {}, 'access_token=abc')],
    ['query, its name escaped', request(undefined, {}, 'x=1&access%5Ftoken=abc')],
    ['header and query', request('Bearer abc', {}, 'access_token=abc')],
  ])('%s: 400', ([, given]) => {
    expect(refusal(() => bearerToken(given))).toEqual([
      400,
      'invalid_request',
      'Bearer realm="acme", error="invalid_request"',
    ])
  })
})

test('challenges as RFC 6750 section 3 has them', () => {
  expect(invalidToken({ realm }, 'session ended').headers).toEqual({
    'WWW-Authenticate': 'Bearer realm="acme", error="invalid_token"',
  })
  const scoped = insufficientScope({ realm }, 'The scope openid is needed', 'openid')
  expect(scoped.status).toBe(403)
  expect(scoped.headers).toEqual({
    'WWW-Authenticate': 'Bearer realm="acme", error="insufficient_scope", scope="openid"',
  })
  expect(insufficientScope({ realm }, 'No').headers['WWW-Authenticate']).not.toContain('scope=')
})
