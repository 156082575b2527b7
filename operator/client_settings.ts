import type { ClientSettings } from '../store/clients.ts'
import { expandRoles } from './composites.ts'
import type { ClientResource, RealmResource } from './resource_types.ts'

/** What a client's row says of what it may do. `audiences` are those that it may have. */
export function clientSettings({ spec }: ClientResource, realm: RealmResource, audiences: string[]): ClientSettings {
  return {
    ...(spec.name !== undefined && { displayName: spec.name }),
    grantTypes: spec.grantTypes,
    webOrigins: resolvedOrigins(spec.webOrigins ?? [], spec.redirectUris ?? []),
    fullScopeAllowed: spec.fullScopeAllowed,
    allowedRoles: expandRoles(spec.allowedRoles ?? [], realm.spec.roles ?? []),
    audiences,
    defaultScopes: spec.defaultScopes,
    optionalScopes: spec.optionalScopes ?? [],
    ...(spec.accessTokenLifetimeSeconds !== undefined && {
      accessTokenLifetimeSeconds: spec.accessTokenLifetimeSeconds,
    }),
    accessTokenType: spec.accessTokenType,
  }
}

/** Origins as browsers send them, `+` replaced by those of the redirect URIs. Private schemes have none (RFC 6454). */
export function resolvedOrigins(webOrigins: readonly string[], redirectUris: readonly string[]): string[] {
  const origins = webOrigins.flatMap((origin) => (origin === '+' ? redirectUris.map(originOf) : [originOf(origin)]))
  return [...new Set(origins.filter((origin) => origin !== undefined))]
}

function originOf(uri: string): string | undefined {
  const url = URL.parse(uri)
  return url && /^https?:$/.test(url.protocol) ? url.origin : undefined
}
