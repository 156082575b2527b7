import type { Finding } from '../finding.ts'
import { findingAt } from '../manifest.ts'
import { realmOf } from '../manifest_set.ts'
import type { ManifestSet } from '../manifest_set.ts'

/** Reports audiences in other namespaces that do not accept tokens from the Client. */
export function audienceFindings(set: ManifestSet): Finding[] {
  return set.clients.flatMap((client) => {
    const { manifest, value } = client
    const realm = realmOf(set, client)
    if (!realm) return []
    return (value.spec.audiences ?? []).flatMap((audience, index) => {
      const target = set.clients.find(
        (other) => other.value.spec.clientId === audience && realmOf(set, other) === realm,
      )
      if (!target || target.manifest.namespace === manifest.namespace) return []
      if (target.value.spec.acceptsTokensFrom?.includes(value.spec.clientId)) return []
      const message = `the client "${audience}" belongs to the namespace ${target.manifest.namespace} and does not list "${value.spec.clientId}" in acceptsTokensFrom`
      return [findingAt(manifest, 'error', ['spec', 'audiences', index], message)]
    })
  })
}
