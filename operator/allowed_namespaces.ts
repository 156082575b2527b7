import type { RealmAllowedNamespaces, RealmMatchExpression, RealmNamespaceSelector } from '../crds/realm.gen.ts'

type Labels = Readonly<Record<string, string>>

/**
 * Whether a Realm admits resources of a namespace. `labels` are undefined for a namespace that does not exist, which
 * no selector matches.
 */
export function admitsNamespace(
  allowed: RealmAllowedNamespaces | undefined,
  realmNamespace: string,
  namespace: string,
  labels: Labels | undefined,
): boolean {
  if (namespace === realmNamespace) return true
  switch (allowed?.from) {
    case 'All':
      return true
    case 'Selector':
      return labels !== undefined && allowed.selector !== undefined && matchesSelector(allowed.selector, labels)
    default:
      return false
  }
}

/** A Kubernetes label selector: all parts have to match, an empty one matches everything. */
export function matchesSelector(
  { matchLabels = {}, matchExpressions = [] }: RealmNamespaceSelector,
  labels: Labels,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value) &&
    matchExpressions.every((expression) => matchesExpression(expression, labels))
  )
}

/** As Kubernetes does it, `NotIn` also matches where the label is missing. */
function matchesExpression({ key, operator, values = [] }: RealmMatchExpression, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    default: // DoesNotExist
      return value === undefined
  }
}
