/** The namespaces whose RoleAssignments are checked; null: all. */
export type Scope = readonly string[] | null

/** Whether objects in every namespace of `scope` were checked under `recorded`. */
export function coversScope(recorded: Scope, scope: Scope): boolean {
  if (recorded === null) return true
  return scope !== null && scope.every((namespace) => recorded.includes(namespace))
}
