import type { Action } from '../http/http.ts'
import { PUBLIC_DOCUMENT } from './public_document.ts'

/** RFC 7517 section 5: the public keys of the realm, those that will sign next included, so that clients know them in time. */
export function certs(): Action {
  return async ({ realm }) => ({
    status: 200,
    headers: PUBLIC_DOCUMENT,
    body: { keys: realm.keyring().publicJwks },
  })
}
