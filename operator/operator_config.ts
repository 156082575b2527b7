import { readFileSync } from 'node:fs'
import { importLicenseKey } from '../keyring/license.ts'
import type { LicenseKey } from '../keyring/license.ts'
import { PlainError } from '../process/plain_error.ts'
import type { OperatorConfig } from '../process/settings.ts'
import { KINDS } from './source/resource.ts'
import type { Kind } from './source/resource.ts'

/** How many resources of each kind are reconciled at a time. */
export type Workers = Record<Kind, number>

export function workersOf(config: OperatorConfig): Workers {
  const { realmWorkers, clientWorkers, userWorkers, roleAssignmentWorkers } = config
  return { Realm: realmWorkers, Client: clientWorkers, User: userWorkers, RoleAssignment: roleAssignmentWorkers }
}

/** The kinds in the value of `--accept-empty`. Throws PlainError. */
export function parseAcceptEmpty(listed: string | undefined): Kind[] {
  return (listed?.split(',') ?? []).map((text) => {
    const kind = KINDS.find((each) => each === text.trim())
    if (!kind) throw new PlainError(`--accept-empty: must list kinds, ${KINDS.join(', ')}`)
    return kind
  })
}

/** The keys in the file of `--license-keys`. Throws PlainError, and LicenseKeyError for a key that is no public Ed25519 JWK. */
export async function readLicenseKeys(file: string | undefined): Promise<LicenseKey[]> {
  return file === undefined ? [] : Promise.all(readJwkSet(file).map((key) => importLicenseKey(key)))
}

function readJwkSet(file: string): LicenseKey[] {
  try {
    const set: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof set === 'object' && set !== null && 'keys' in set && Array.isArray(set.keys)) return set.keys
  } catch (error) {
    // The parser's message would quote the file.
    const why = error instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read'
    throw new PlainError(`--license-keys ${file}: ${why}`)
  }
  throw new PlainError(`--license-keys ${file}: it is not a JWK Set, an object with the member "keys"`)
}
