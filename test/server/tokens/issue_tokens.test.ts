import { expect, test } from 'vitest'
import { userClaims } from '../../../server/tokens/issue_tokens.ts'

const user = {
  subject: 's',
  username: 'alice',
  email: 'alice@example.org',
  emailVerified: true,
  firstName: 'Alice',
  lastName: 'Adams',
  enabled: true,
  subjectPinned: false,
}

test('each scope tells its own', () => {
  expect(userClaims(user, ['openid'])).toEqual({})
  expect(userClaims(user, ['email'])).toEqual({ email: 'alice@example.org', email_verified: true })
  expect(userClaims(user, ['profile'])).toEqual({
    name: 'Alice Adams',
    preferred_username: 'alice',
    given_name: 'Alice',
    family_name: 'Adams',
  })
})

test('what is not known is left out', () => {
  const scope = ['openid', 'profile', 'email']
  expect(userClaims({ ...user, firstName: null, email: null }, scope)).toEqual({
    name: 'Adams',
    preferred_username: 'alice',
    family_name: 'Adams',
  })
  expect(userClaims({ ...user, firstName: null, lastName: null }, scope)).not.toHaveProperty('name')
})
