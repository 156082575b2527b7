import type { RealmResource } from '../view/resource_types.ts'

/** The name of a realm in URLs and rows. */
export function realmName({ metadata, spec }: RealmResource): string {
  return spec.realm ?? metadata.name
}
