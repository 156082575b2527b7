import type { RealmRole } from '../../crds/realm.gen.ts'
import { REALM_ADMIN_ROLE } from '../../store/realms.ts'

/** The roles that an assignment in a realm can list. */
export interface DefinedRoles {
  /** Of the realm's spec. */
  roles: readonly RealmRole[]
  /** Of its encrypted fields. */
  fieldRoles: readonly string[]
}

export interface ExpandedRoles {
  /** The listed roles that exist, with everything they are composed of, sorted, each once. */
  roles: string[]
  /** Listed roles that the realm does not define, sorted. */
  unknown: string[]
}

/**
 * Follows composites to their end; a ring is walked once. A composite that the realm does not define gives nothing,
 * and reserved roles are given by an assignment that lists them or not at all.
 */
export function expandRoles(listed: Iterable<string>, defined: DefinedRoles): ExpandedRoles {
  const definitions = new Map(
    defined.roles.filter(({ name }) => !isReserved(name)).map(({ name, composites = [] }) => [name, composites]),
  )
  const alone = new Set([REALM_ADMIN_ROLE, ...defined.fieldRoles])
  const found = new Set<string>()
  const unknown = new Set<string>()

  for (const role of listed) {
    if (alone.has(role)) found.add(role)
    else if (definitions.has(role)) follow(role, definitions, found)
    else unknown.add(role)
  }
  return { roles: [...found].toSorted(), unknown: [...unknown].toSorted() }
}

/** Whether a role needs a decision even where governance is disabled. */
export function alwaysNeedsDecision(role: string): boolean {
  return role === REALM_ADMIN_ROLE || role.startsWith('_svc_')
}

function follow(first: string, definitions: ReadonlyMap<string, readonly string[]>, found: Set<string>): void {
  const open = [first]
  for (let role = open.pop(); role !== undefined; role = open.pop()) {
    const composites = definitions.get(role)
    if (!composites || found.has(role)) continue
    found.add(role)
    open.push(...composites)
  }
}

function isReserved(role: string): boolean {
  return alwaysNeedsDecision(role) || role.startsWith('default-roles-')
}
