import { expect, test } from 'vitest'
import { OAuthError, renderError } from '../../../server/http/oauth_error.ts'

test('the public half leaves, the private half goes into the log', () => {
  const error = new OAuthError('invalid_client', 'Invalid client', {
    cause: 'wrong client secret',
    context: { clientId: 'shop' },
    headers: { 'WWW-Authenticate': 'Basic realm="acme"' },
  })
  const { answer, log } = renderError(error)
  expect(answer).toEqual({
    status: 401,
    headers: { 'WWW-Authenticate': 'Basic realm="acme"' },
    body: { error: 'invalid_client', error_description: 'Invalid client' },
  })
  expect(log).toEqual({
    error: 'invalid_client',
    description: 'Invalid client',
    cause: 'wrong client secret',
    clientId: 'shop',
  })
})

test('an error behind an OAuthError is logged as an error and does not leave', () => {
  const behind = new Error('secret text')
  const { answer, log } = renderError(new OAuthError('keyring_unavailable', 'No keys', { cause: behind }))
  expect(JSON.stringify(answer)).not.toContain('secret text')
  expect(log.err).toBe(behind)
})

test('of any other error only that the request failed leaves', () => {
  const thrown = new TypeError('secret text')
  const { answer, log } = renderError(thrown)
  expect(answer).toEqual({
    status: 500,
    headers: {},
    body: { error: 'server_error', error_description: 'The request failed on our side' },
  })
  expect(log.err).toBe(thrown)
})

test('503 and 429 name a time to retry, their own where they have one', () => {
  const of = (headers?: Record<string, string>) =>
    renderError(new OAuthError('rate_limited', 'Too many', headers && { headers })).answer.headers
  expect(of()).toEqual({ 'Retry-After': '2' })
  expect(of({ 'Retry-After': '30' })).toEqual({ 'Retry-After': '30' })
})
