import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from './atomic_file.ts'
import { canonicalText } from '../../../process/canonical_json.ts'
import { errorCode } from './error_code.ts'
import { StateError } from './state_file.ts'

const KEY_BYTES = 32

/**
 * Digests of Secrets under a key of the state directory: they tell whether a Secret changed and, without the key,
 * nothing about what is in it. Throws StateError when the key file is not a key.
 */
export function secretDigests(stateDir: string): (content: unknown) => string {
  const path = join(stateDir, 'secret_digest.key')
  const key = createSecretKey(readOrMakeKey(path, stateDir))
  return (content) => createHmac('sha256', key).update(canonicalText(content)).digest('hex').slice(0, 40)
}

function readOrMakeKey(path: string, stateDir: string): Buffer {
  try {
    const key = readFileSync(path)
    if (key.length === KEY_BYTES) return key
  } catch (error) {
    const code = errorCode(error)
    if (code !== 'ENOENT') throw new StateError(`${path} cannot be read (${code})`, { cause: error })
    const key = randomBytes(KEY_BYTES)
    mkdirSync(stateDir, { recursive: true, mode: 0o700 })
    replaceFile(path, key, { mode: 0o600 })
    return key
  }
  throw new StateError(`${path} is damaged: remove it; every password is then hashed again and every session ends`)
}
