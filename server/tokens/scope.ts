import type { ClientSettings } from '../../store/clients.ts'
import { isFieldRole } from '../../store/field_roles.ts'
import { OAuthError } from '../http/oauth_error.ts'

const MAX_SCOPE_LENGTH = 2048
const MAX_SCOPE_WORDS = 50

/** RFC 6749 section 3.3. */
const SCOPE_WORD = /^[\x21\x23-\x5b\x5d-\x7e]+$/

type ScopeSettings = Pick<ClientSettings, 'defaultScopes' | 'optionalScopes'>

/**
 * The words of a scope parameter, each once.
 * @throws OAuthError 400 `invalid_scope` when it is too long or is no list of words
 */
export function readScope(scope: string): string[] {
  if (scope.length > MAX_SCOPE_LENGTH) throw invalidScopes()
  const words = scope.split(' ').filter(Boolean)
  if (words.length > MAX_SCOPE_WORDS || !words.every((word) => SCOPE_WORD.test(word))) throw invalidScopes()
  return [...new Set(words)]
}

/**
 * What a session remembers as asked for: `openid` when nothing was. Words shaped like a field's role always pass,
 * because an error would tell which fields there are.
 * @throws OAuthError 400 `invalid_scope` for a word that the client may not ask for
 */
export function requestedScope(scope: string | undefined, client: ScopeSettings): string[] {
  if (scope === undefined) return ['openid']
  const words = readScope(scope)
  if (!words.every((word) => isFieldRole(word) || isOffered(word, client))) throw invalidScopes()
  return words
}

/**
 * What of a requested scope is granted now: words that the client offers now, field roles that the user holds now, and
 * the client's default scopes. Nothing that was requested before and is not granted now is an error.
 */
export function grantedScope(requested: readonly string[], client: ScopeSettings, roles: readonly string[]): string[] {
  const granted = requested.filter((word) => (isFieldRole(word) ? roles.includes(word) : isOffered(word, client)))
  const defaults = client.defaultScopes.filter((word) => !isFieldRole(word))
  return [...new Set([...granted, ...defaults])]
}

/** A refresh may ask for less (RFC 6749 section 6); more, or what nobody knows, is left out. */
export function narrowedScope(granted: string[], scope: string | undefined): string[] {
  if (scope === undefined) return granted
  const wanted = readScope(scope)
  return granted.filter((word) => wanted.includes(word))
}

/** What of a granted scope still means something: a field's word is given by its role alone, and goes with it. */
export function scopeNow(granted: readonly string[], roles: readonly string[]): string[] {
  return granted.filter((word) => !isFieldRole(word) || roles.includes(word))
}

function isOffered(word: string, { defaultScopes, optionalScopes }: ScopeSettings): boolean {
  return word === 'openid' || defaultScopes.includes(word) || optionalScopes.includes(word)
}

function invalidScopes(): OAuthError {
  return new OAuthError('invalid_scope', 'Invalid scopes')
}
