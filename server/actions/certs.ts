import type { Action } from '../http/request.ts'

/** RFC 7517 section 5: the public keys of the realm, with those that will sign next, so that clients know them in time. */
export function certs(): Action {
  return async ({ realm }) => ({ status: 200, body: { keys: realm.keyring().publicJwks } })
}
