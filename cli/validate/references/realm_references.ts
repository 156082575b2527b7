import { admitsNamespace } from '../../../operator/view/allowed_namespaces.ts'
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
    if (!realm) return []
    const labels = set.namespaces.get(manifest.namespace) ?? 'unknown'
    const admitted = admitsNamespace(realm.value.spec.allowedNamespaces, namespace, manifest.namespace, labels)
    if (admitted === true) return []
    const refusal = `Realm ${namespace}/${name} does not admit the namespace ${manifest.namespace}; widen its spec.allowedNamespaces`
    const doubt = `whether Realm ${namespace}/${name} admits the namespace ${manifest.namespace} depends on its labels; there is no Namespace among these files`
    const [severity, message] = admitted === 'unknown' ? (['note', doubt] as const) : (['error', refusal] as const)
    return [findingAt(manifest, severity, ['spec', 'realmRef', 'namespace'], message)]
  })
}
