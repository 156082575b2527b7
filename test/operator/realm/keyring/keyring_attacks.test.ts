import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { keyringDigest } from '../../../../keyring/continuity.ts'
import { serializeKeyring } from '../../../../keyring/keyring.ts'
import type { Keyring } from '../../../../keyring/keyring.ts'
import { createKeyrings } from '../../../../server/keyrings/keyrings.ts'
import { directoryKeyrings } from '../../../../server/keyrings/directory_keyrings.ts'
import type { Keyrings } from '../../../../server/keyrings/keyrings.ts'
import { findRealm } from '../../../../store/realms.ts'
import { realmKeyring } from '../../../support/realm_keyring.ts'
import { realm, secret } from '../../manifests.ts'
import { eventually, operatorUnderTest } from '../../operator_under_test.ts'
import type { OperatorUnderTest } from '../../operator_under_test.ts'
import { keyringFile } from '../realm_under_test.ts'

// Mallory may write Secrets in the namespace of the keyrings. She has no right on the Realm.
describe('row 140: a realm without encryption keys', () => {
  let operator: OperatorUnderTest
  let file: ReturnType<typeof keyringFile>
  let server: Keyrings | undefined
  beforeEach(async () => {
    operator = await operatorUnderTest()
    file = keyringFile(operator)
  })
  afterEach(async () => {
    server?.close()
    server = undefined
    await operator.end()
  })

  const condition = () => operator.condition('Realm', 'shop', 'KeysReady')
  const isRefused = (reason: string): Promise<void> =>
    eventually(() => expect([condition()?.status, condition()?.reason]).toEqual(['False', reason]))
  const isAccepted = (): Promise<void> => eventually(() => expect(condition()?.status).toBe('True'))
  const annotate = (annotations: Record<string, string>): Promise<void> =>
    operator.write('realm.yaml', realm('shop', {}, { annotations }))

  async function started(): Promise<Keyring> {
    await operator.write('realm.yaml', realm())
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    return file.keyring()
  }

  /** A keyring of her own, in the form of the operator's. */
  async function hers(): Promise<Keyring> {
    const keyring = await realmKeyring({ realm: 'shop', versions: [] })
    return { ...keyring, owner: { namespace: 'default', name: 'shop' } }
  }

  /** The kid that a server signs with, which reads the same files and the same database. */
  async function servedKid(): Promise<string | undefined> {
    if (!server) {
      const source = directoryKeyrings(`${operator.stateDir}/secrets`)
      server = createKeyrings({
        source,
        pool: operator.database.pool,
        now: () => new Date(),
        log: pino({ level: 'silent' }),
        onLoaded: () => {},
      })
      const row = await findRealm(operator.database.pool, 'shop')
      server.follow(row ? [row] : [])
    }
    server.retryRefused()
    await eventually(() => expect(server?.isSettled()).toBe(true))
    try {
      return server.get('shop').signer?.kid
    } catch {
      return undefined
    }
  }

  test('attack: she replaces the keyring; nothing of hers is signed, also after restarts', async () => {
    const good = await started()
    const text = await file.text()
    expect(await servedKid()).toBe(good.signing[0]?.kid)
    const foreign = await hers()
    await file.editKeyring(() => foreign)
    await isRefused('KeyringRolledBack')
    expect(await servedKid()).toBe(good.signing[0]?.kid)
    const { status } = operator.find('Realm', 'shop') ?? {}
    expect(JSON.stringify(status)).not.toContain(foreign.signing[0]?.kid)
    expect(JSON.stringify(status)).toContain(good.signing[0]?.kid)

    // A server that starts now serves no key.
    server?.close()
    server = undefined
    expect(await servedKid()).toBeUndefined()
    await operator.stop()
    await operator.start()
    await isRefused('KeyringRolledBack')
    expect(await file.keyring()).toEqual(foreign)
    expect(operator.events.map(({ reason }) => reason)).toContain('KeyringRolledBack')

    await file.replace(text)
    await isAccepted()
    await eventually(async () => expect(await servedKid()).toBe(good.signing[0]?.kid))
  })

  test('attack: she deletes the Secret, and creates another', async () => {
    const good = await started()
    await rm(file.path)
    await isRefused('KeyringLost')
    await operator.write('hers.yaml', {
      ...secret('realm-shop-keyring', {}, { namespace: 'realmkeeper', labels: { 'realmkeeper.io/keyring': 'true' } }),
      stringData: undefined,
      data: { 'keyring.json': serializeKeyring(await hers()).toString('base64') },
    })
    await isRefused('KeyringRolledBack')
    expect(condition()?.message).toContain(good.signing[0]?.kid)
    expect(await file.text().catch(() => 'none')).toBe('none')
  })

  test('attack: after the database was lost, status still requires the keys', async () => {
    await started()
    await operator.stop()
    for (const table of ['recorded_keys', 'keyring_records']) await operator.rows(`delete from ${table}`)
    const foreign = await hers()
    await file.editKeyring(() => foreign)
    await operator.start()
    await isRefused('KeyringRolledBack')
  })

  test('attack: with the content of the Secret, she adds her keys and makes them active', async () => {
    const good = await started()
    const foreign = await hers()
    const added = {
      ...good,
      signing: [...good.signing.map((key) => ({ ...key, state: 'passive' as const })), ...foreign.signing],
    }
    await file.editKeyring(() => added)
    await isRefused('KeyringUnconfirmed')
    expect(await servedKid()).toBeUndefined()
    expect(operator.events.map(({ reason }) => reason)).toContain('KeyringUnconfirmed')
    expect(condition()?.message).toContain(foreign.signing[0]?.kid)
    expect(condition()?.message).toContain(`realmkeeper.io/accept-keyring: ${keyringDigest(added)}`)
  })

  test('attack: she writes a keyring before the Realm exists', async () => {
    await operator.start()
    await operator.write('hers.yaml', {
      ...secret('realm-shop-keyring', {}, { namespace: 'realmkeeper', labels: { 'realmkeeper.io/keyring': 'true' } }),
      stringData: undefined,
      data: { 'keyring.json': serializeKeyring(await hers()).toString('base64') },
    })
    await operator.write('realm.yaml', realm())
    await isRefused('KeyringUnconfirmed')
    expect(await operator.rows('select name from recorded_keys')).toEqual([])
  })

  test('the owner accepts an external keyring by its digest; it then rotates its keys, with their overlap', async () => {
    await operator.start()
    const first = await hers()
    const write = (keyring: Keyring): Promise<void> =>
      operator.write('external.yaml', {
        ...secret('realm-shop-keyring', {}, { namespace: 'realmkeeper', labels: { 'realmkeeper.io/keyring': 'true' } }),
        stringData: undefined,
        data: { 'keyring.json': serializeKeyring(keyring).toString('base64') },
      })
    await write(first)
    await annotate({ 'realmkeeper.io/accept-keyring': keyringDigest(await hers()) })
    await isRefused('KeyringUnconfirmed')
    await annotate({ 'realmkeeper.io/accept-keyring': keyringDigest(first) })
    await isAccepted()
    expect(condition()?.reason).toBe('ExternallyManaged')
    const audit = await operator.rows<{ action: string }>('select action from audit order by seq')
    expect(audit.map(({ action }) => action)).toContain('keyring_accepted')

    // The confirmation is recorded, so the annotation may go.
    await annotate({})
    const second = await hers()
    const passive = first.signing.map((key) => ({ ...key, state: 'passive' as const }))
    await write({ ...first, signing: [...passive, ...second.signing] })
    await eventually(async () =>
      expect(await operator.rows(`select name from recorded_keys where state = 'active' and kind = 'signing'`)).toEqual(
        [{ name: second.signing[0]?.kid }],
      ),
    )
    expect(condition()?.reason).toBe('ExternallyManaged')
    await write({ ...first, signing: second.signing })
    await eventually(async () =>
      expect(await operator.rows(`select name from recorded_keys where state = 'removed'`)).toEqual([
        { name: first.signing[0]?.kid },
      ]),
    )
    await write(first)
    await isRefused('KeyringRolledBack')
  })

  test('an upgrade: what status records continues without a confirmation', async () => {
    const good = await started()
    await operator.stop()
    for (const table of ['recorded_keys', 'keyring_records']) await operator.rows(`delete from ${table}`)
    // As a keyring that was transferred with the former annotation of the Secret.
    await file.editKeyring((keyring) => ({ ...keyring, owner: { namespace: 'former', name: 'shop' } }))
    await operator.start()
    await eventually(async () =>
      expect(await operator.rows(`select name from recorded_keys where kind = 'signing' and state = 'active'`)).toEqual(
        [{ name: good.signing[0]?.kid }],
      ),
    )
    expect(await servedKid()).toBe(good.signing[0]?.kid)
  })

  test('an operator that was killed after it wrote a new key continues with it', async () => {
    const good = await started()
    await operator.stop()
    // The key is announced before it is written, its state is recorded afterwards.
    await operator.rows(`update recorded_keys set state = 'announced'`)
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    await eventually(async () =>
      expect(await operator.rows(`select distinct state from recorded_keys`)).toEqual([{ state: 'active' }]),
    )
    expect((await file.keyring()).signing).toEqual(good.signing)
  })
})
