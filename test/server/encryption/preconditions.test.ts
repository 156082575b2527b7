import { describe, expect, test } from 'vitest'
import {
  allMet,
  requireDecryptionAvailable,
  requireEncryptionAvailable,
} from '../../../server/encryption/permission.ts'
import type { ServedRealm } from '../../../server/realms/realms.ts'
import type { EncryptionState } from '../../../keyring/keyring.ts'
import { loadKeyring } from '../../../keyring/loaded_keyring.ts'
import type { EncryptionPreconditions } from '../../../store/realms.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { realmRow } from '../../support/rows.ts'

const now = new Date('2030-01-01T00:00:00Z')
const past = '2029-12-31T23:59:59Z'
const ahead = '2030-01-01T00:00:01Z'

test.for<[string, EncryptionPreconditions, boolean]>([
  ['nothing missing, no dates', { missing: [] }, true],
  ['both dates ahead', { missing: [], licenseExpiresAt: ahead, realmAdminUntil: ahead }, true],
  ['something missing', { missing: ['GovernanceDisabled'], licenseExpiresAt: ahead }, false],
  ['the license expired', { missing: [], licenseExpiresAt: past }, false],
  ['the license expires at this moment', { missing: [], licenseExpiresAt: now.toISOString() }, false],
  ['the realm admin is one no longer', { missing: [], realmAdminUntil: past }, false],
  ['a date that is none', { missing: [], licenseExpiresAt: 'never' }, false],
])('%s', ([, preconditions, met]) => {
  expect(allMet(preconditions, now)).toBe(met)
})

describe('after a lapse encrypting stops and decrypting continues, unless there was never a key', () => {
  const unavailable = expect.objectContaining({ status: 403, error: 'field_encryption_unavailable' })
  async function served(versions: EncryptionState[], encryption: EncryptionPreconditions): Promise<ServedRealm> {
    const keyring = await loadKeyring(await realmKeyring({ versions }))
    const row = realmRow({ encryption })
    return { name: row.realm, row, issuer: '', findClient: async () => undefined, keyring: () => keyring }
  }

  test('while all is met', async () => {
    const realm = await served(['primary'], { missing: [] })
    requireEncryptionAvailable(realm, now)
    requireDecryptionAvailable(realm, now)
  })

  test.for<[string, EncryptionState[], EncryptionPreconditions]>([
    ['the license lapsed', ['primary'], { missing: [], licenseExpiresAt: past }],
    ['governance was switched off', ['primary'], { missing: ['GovernanceDisabled'] }],
    ['and every key was destroyed', ['destroyed'], { missing: ['GovernanceDisabled'] }],
  ])('%s', async ([, versions, encryption]) => {
    const realm = await served(versions, encryption)
    expect(() => requireEncryptionAvailable(realm, now)).toThrow(unavailable)
    requireDecryptionAvailable(realm, now)
  })

  test('it never began', async () => {
    const realm = await served([], { missing: ['LicenseMissing'] })
    expect(() => requireEncryptionAvailable(realm, now)).toThrow(unavailable)
    expect(() => requireDecryptionAvailable(realm, now)).toThrow(unavailable)
  })
})
