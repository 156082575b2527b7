import type { Finding } from '../finding.ts'
import { findingAt } from '../manifest.ts'
import { realmOf } from '../manifest_set.ts'
import type { ManifestSet } from '../manifest_set.ts'

/** That a Client of another namespace which is named as audience accepts tokens from this one. */
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
      return [findingAt(manifest, 'error', { path: ['spec', 'audiences', index], message })]
    })
  })
}
