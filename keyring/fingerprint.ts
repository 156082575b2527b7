import { createHmac, type KeyObject } from 'node:crypto'

/**
 * Names the bytes of an encryption key without telling them: HMAC-SHA256(key, "rk.fp.v1")[0:8] in hex, 16 characters.
 * It may be shown, stored and logged.
 */
export function fingerprint(key: KeyObject | Uint8Array): string {
  return createHmac('sha256', key).update('rk.fp.v1').digest('hex').slice(0, 16)
}
