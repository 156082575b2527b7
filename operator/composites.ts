import type { RealmRole } from '../crds/realm.gen.ts'

/**
 * The roles with all that they are composed of, sorted. A role that the realm does not define stands for itself; rings
 * of composites end where they began.
 */
export function expandRoles(roles: readonly string[], defined: readonly RealmRole[]): string[] {
  const composites = new Map(defined.map((role) => [role.name, role.composites ?? []]))
  const expanded = new Set<string>()
  const open = [...roles]
  for (let role = open.pop(); role !== undefined; role = open.pop()) {
    if (expanded.has(role)) continue
    expanded.add(role)
    open.push(...(composites.get(role) ?? []))
  }
  return [...expanded].toSorted()
}
