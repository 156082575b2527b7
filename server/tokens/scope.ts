import type { ClientRow, ClientSettings } from '../../store/clients.ts'
import { fieldRole, isFieldRole, REALM_ADMIN_ROLE } from '../../store/realms.ts'
import type { RealmRow } from '../../store/realms.ts'
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
function readScope(scope: string): string[] {
  if (scope.length > MAX_SCOPE_LENGTH) throw invalidScopes()
  const words = scope.split(' ').filter(Boolean)
  if (words.length > MAX_SCOPE_WORDS || !words.every((word) => SCOPE_WORD.test(word))) throw invalidScopes()
  return [...new Set(words)]
}

/**
 * The scope that a session stores as requested: `openid` without a parameter. Words shaped like a field's role always
 * pass, because an error would reveal which fields exist.
 * @throws OAuthError 400 `invalid_scope` for a word that the client may not request
 */
export function requestedScope(scope: string | undefined, client: ScopeSettings): string[] {
  if (scope === undefined) return ['openid']
  const words = readScope(scope)
  if (!words.every((word) => isFieldRole(word) || isOffered(word, client))) throw invalidScopes()
  return words
}

/**
 * The part of a requested scope that is granted now: words that the client offers, field roles that the user holds, and
 * the client's default scopes. A requested word that is not granted is left out without an error.
 */
export function grantedScope(requested: readonly string[], client: ScopeSettings, roles: readonly string[]): string[] {
  const granted = requested.filter((word) => (isFieldRole(word) ? roles.includes(word) : isOffered(word, client)))
  const defaults = client.defaultScopes.filter((word) => !isFieldRole(word))
  return [...new Set([...granted, ...defaults])]
}

/** A refresh may ask for a narrower scope (RFC 6749 section 6); excess and unknown words are left out. */
export function narrowedScope(granted: string[], scope: string | undefined): string[] {
  if (scope === undefined) return granted
  const wanted = readScope(scope)
  return granted.filter((word) => wanted.includes(word))
}

/** A granted scope without the field roles that the user has lost since: a field's word is valid only with its role. */
export function scopeNow(granted: readonly string[], roles: readonly string[]): string[] {
  return granted.filter((word) => !isFieldRole(word) || roles.includes(word))
}

function isOffered(word: string, { defaultScopes, optionalScopes }: ScopeSettings): boolean {
  return word === 'openid' || defaultScopes.includes(word) || optionalScopes.includes(word)
}

function invalidScopes(): OAuthError {
  return new OAuthError('invalid_scope', 'Invalid scopes')
}

/**
 * The roles that a user has through a client now: those granted to the user and to the realm's default group, minus
 * those that the realm no longer defines, and, without full scope, only those that the client allows. Sorted.
 */
export function rolesNow(
  { grantedRoles }: { grantedRoles: readonly string[] },
  { row }: { row: RealmRow },
  { settings }: Pick<ClientRow, 'settings'>,
): string[] {
  const defined = definedRoles(row)
  const { fullScopeAllowed, allowedRoles } = settings
  return grantedRoles
    .filter((role) => defined.has(role) && (fullScopeAllowed || allowedRoles.includes(role)))
    .toSorted()
}

/** Rows are immutable, so the set of one row stays valid. */
const definedByRow = new WeakMap<RealmRow, ReadonlySet<string>>()

/** Every role of the realm: its own, svc-realm-admin, and two for each field. */
function definedRoles(row: RealmRow): ReadonlySet<string> {
  const known = definedByRow.get(row)
  if (known) return known
  const defined = new Set([REALM_ADMIN_ROLE])
  for (const { name } of row.roles) defined.add(name)
  for (const { tag } of row.fields) defined.add(fieldRole(tag, 'encrypt')).add(fieldRole(tag, 'decrypt'))
  definedByRow.set(row, defined)
  return defined
}
