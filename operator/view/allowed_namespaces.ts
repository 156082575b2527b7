import type { RealmAllowedNamespaces, RealmMatchExpression, RealmNamespaceSelector } from '../../crds/realm.gen.ts'

type Labels = Readonly<Record<string, string>>

/** The one label that every namespace has (KEP-2161). */
export const NAME_LABEL = 'kubernetes.io/metadata.name'

/**
 * Whether a Realm admits resources of a namespace. `labels` are undefined for a namespace that does not exist, which no
 * selector matches. They are `unknown` where the operator may not read namespaces: then the answer is `unknown`, except
 * for a selector of the name label only.
 */
export function admitsNamespace(
  allowed: RealmAllowedNamespaces | undefined,
  realmNamespace: string,
  namespace: string,
  labels: Labels | 'unknown' | undefined,
): boolean | 'unknown' {
  if (namespace === realmNamespace) return true
  switch (allowed?.from) {
    case 'All':
      return true
    case 'Selector': {
      const { selector } = allowed
      if (labels === undefined || selector === undefined) return false
      if (labels !== 'unknown') return matchesSelector(selector, labels)
      // An unknown label must not count as an absent one.
      return keysOf(selector).every((key) => key === NAME_LABEL)
        ? matchesSelector(selector, { [NAME_LABEL]: namespace })
        : 'unknown'
    }
    default:
      return false
  }
}

function keysOf({ matchLabels = {}, matchExpressions = [] }: RealmNamespaceSelector): string[] {
  return [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)]
}

/** A Kubernetes label selector: all parts must match, and an empty selector matches everything. */
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
