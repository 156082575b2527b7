import type { ClientSettings } from '../../store/clients.ts'
import { definedRoles } from '../realm/fields.ts'
import type { ClientResource, RealmResource } from '../view/resource_types.ts'
import { expandRoles } from '../realm/expand_roles.ts'

/** What a client may do, for its row. `audiences` are those that it may have. */
export function clientSettings({ spec }: ClientResource, realm: RealmResource, audiences: string[]): ClientSettings {
  return {
    ...(spec.name !== undefined && { displayName: spec.name }),
    grantTypes: spec.grantTypes,
    webOrigins: resolvedOrigins(spec.webOrigins ?? [], spec.redirectUris ?? []),
    fullScopeAllowed: spec.fullScopeAllowed,
    // Roles that the realm does not define are left out until it does.
    allowedRoles: expandRoles(spec.allowedRoles ?? [], definedRoles(realm)).roles,
    audiences,
    defaultScopes: spec.defaultScopes,
    optionalScopes: spec.optionalScopes ?? [],
    ...(spec.accessTokenLifetimeSeconds !== undefined && {
      accessTokenLifetimeSeconds: spec.accessTokenLifetimeSeconds,
    }),
    accessTokenType: spec.accessTokenType,
  }
}

/** Origins as browsers send them; `+` stands for those of the redirect URIs. Private schemes have none (RFC 6454). */
export function resolvedOrigins(webOrigins: readonly string[], redirectUris: readonly string[]): string[] {
  const origins = webOrigins.flatMap((origin) => (origin === '+' ? redirectUris.map(originOf) : [originOf(origin)]))
  return [...new Set(origins.filter((origin) => origin !== undefined))]
}

function originOf(uri: string): string | undefined {
  const url = URL.parse(uri)
  return url && /^https?:$/.test(url.protocol) ? url.origin : undefined
}
