import type { ClientRow } from '../../store/clients.ts'
import type { LiveSession } from '../../store/live_sessions.ts'
import type { RealmRow } from '../../store/realms.ts'
import { fieldRole } from '../../store/field_roles.ts'
import type { ServedRealm } from '../realms/realms.ts'

/**
 * The roles that a user has through a client at this moment: what is granted to the user and to the realm's default
 * group, less what the realm no longer defines, and, without full scope, only what the client is allowed. Sorted.
 */
export function rolesNow(
  { grantedRoles }: Pick<LiveSession, 'grantedRoles'>,
  { row }: Pick<ServedRealm, 'row'>,
  { settings }: Pick<ClientRow, 'settings'>,
): string[] {
  const defined = definedRoles(row)
  const { fullScopeAllowed, allowedRoles } = settings
  return grantedRoles
    .filter((role) => defined.has(role) && (fullScopeAllowed || allowedRoles.includes(role)))
    .toSorted()
}

/** A row is never changed, only replaced, so what was found of it holds. */
const definedByRow = new WeakMap<RealmRow, ReadonlySet<string>>()

/** Every role that the realm has: its own, the one that always exists, and two for each field that it serves. */
function definedRoles(row: RealmRow): ReadonlySet<string> {
  const known = definedByRow.get(row)
  if (known) return known
  const defined = new Set(['svc-realm-admin'])
  for (const { name } of row.roles) defined.add(name)
  for (const { tag } of row.fields) defined.add(fieldRole(tag, 'encrypt')).add(fieldRole(tag, 'decrypt'))
  definedByRow.set(row, defined)
  return defined
}
