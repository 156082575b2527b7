import type { RealmAllowedNamespaces, RealmMatchExpression } from '../../../crds/realm.gen.ts'
import type { Finding } from '../finding.ts'
import { findingAt } from '../manifest.ts'
import { presence, realmOf } from '../manifest_set.ts'
import type { ManifestSet } from '../manifest_set.ts'

/** Reports realmRefs without a Realm, and Realms that do not admit the namespace. */
export function realmReferenceFindings(set: ManifestSet): Finding[] {
  return [...set.clients, ...set.users, ...set.roleAssignments].flatMap((object) => {
    const { manifest, value } = object
    const { name, namespace = manifest.namespace } = value.spec.realmRef
    const path = ['spec', 'realmRef', 'name']
    const found = presence(set, 'Realm', namespace, name)
    if (found === 'missing') {
      const message = `no Realm ${namespace}/${name} among these files; name one that exists, or add it`
      return [findingAt(manifest, 'error', path, message)]
    }
    if (found === 'elsewhere') {
      const message = `no Realm ${namespace}/${name} among these files, so references that depend on it are not checked`
      return [findingAt(manifest, 'note', path, message)]
    }

    const realm = realmOf(set, object)
    if (!realm || manifest.namespace === namespace) return []
    const admitted = admits(realm.value.spec.allowedNamespaces, set.namespaces.get(manifest.namespace))
    if (admitted === 'yes') return []
    const refusal = `Realm ${namespace}/${name} does not admit the namespace ${manifest.namespace}; widen its spec.allowedNamespaces`
    const doubt = `whether Realm ${namespace}/${name} admits the namespace ${manifest.namespace} depends on its labels; there is no Namespace among these files`
    const message = admitted === 'no' ? refusal : doubt
    return [findingAt(manifest, admitted === 'no' ? 'error' : 'note', ['spec', 'realmRef', 'namespace'], message)]
  })
}

/** Whether a Realm admits another namespace with these labels; undefined labels are unknown. */
function admits(allowed: RealmAllowedNamespaces, labels: Record<string, string> | undefined): 'yes' | 'no' | 'unknown' {
  if (allowed.from === 'All') return 'yes'
  if (allowed.from === 'Same') return 'no'
  if (!labels) return 'unknown'
  const { matchLabels = {}, matchExpressions = [] } = allowed.selector ?? {}
  const fits =
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((expression) => expressionFits(expression, labels[expression.key]))
  return fits ? 'yes' : 'no'
}

/** As metav1.LabelSelector: NotIn and DoesNotExist also match an absent label. */
function expressionFits({ operator, values = [] }: RealmMatchExpression, label: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label)
    case 'NotIn':
      return label === undefined || !values.includes(label)
    case 'Exists':
      return label !== undefined
    default:
      return label === undefined
  }
}
