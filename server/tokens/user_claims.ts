import type { SessionUser } from '../../store/live_sessions.ts'

/** Claims about a user (OpenID Connect Core section 5.1); what is not known is left out. */
export interface UserClaims {
  email_verified?: boolean
  name?: string
  preferred_username?: string
  given_name?: string
  family_name?: string
  email?: string
}

/** What the granted scopes `profile` and `email` tell of a user (section 5.4). */
export function userClaims(user: SessionUser, scope: readonly string[]): UserClaims {
  return {
    ...(scope.includes('email') && user.email !== null && { email_verified: user.emailVerified }),
    ...(scope.includes('profile') && profileClaims(user)),
    ...(scope.includes('email') && user.email !== null && { email: user.email }),
  }
}

function profileClaims({ username, firstName, lastName }: SessionUser): UserClaims {
  const name = [firstName, lastName].filter(Boolean).join(' ')
  return {
    ...(name !== '' && { name }),
    preferred_username: username,
    ...(firstName !== null && { given_name: firstName }),
    ...(lastName !== null && { family_name: lastName }),
  }
}
