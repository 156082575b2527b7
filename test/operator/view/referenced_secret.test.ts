import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { client, realm, secret, user } from '../manifests.ts'
import { eventually, operatorUnderTest } from '../operator_under_test.ts'
import type { Manifest, OperatorUnderTest } from '../operator_under_test.ts'

// Mallory may write resources and read their status and Events. She has no right on Secrets.
describe('attack: status as an oracle about Secrets', () => {
  let operator: OperatorUnderTest
  beforeEach(async () => {
    operator = await operatorUnderTest()
  })
  afterEach(() => operator.end())

  const license = { name: 'probed', key: 'value' }
  const identityProvider = { alias: 'local', licenseSecretRef: license }
  const KEYRING = { labels: { 'realmkeeper.io/keyring': 'true' } }
  const entry = (value: string, metadata: object = {}): Manifest => secret('probed', { value }, metadata)
  const bytes = (value: Buffer): Manifest => ({
    ...entry(''),
    stringData: undefined,
    data: { value: value.toString('base64') },
  })

  const secrets: [string, Manifest, RegExp][] = [
    ['no entry', secret('probed', { other: 'x' }), /no such entry/],
    ['an empty entry', entry(''), /empty|shorter|not a compact JWS/],
    ['a newline', entry('\n'), /empty|shorter|not a compact JWS/],
    ['a character that is not allowed', entry('a-value-with\0-in-it'), /U\+0000|not a compact JWS/],
    ['a long entry', entry('x'.repeat(20_000)), /longer|not a compact JWS/],
    ['no text', bytes(Buffer.from([0xff, 0xfe, 0x80])), /UTF-8|not a compact JWS/],
    ['a keyring', entry('a-value-of-a-good-length', KEYRING), /such keys cannot be referenced/],
  ]

  const probes: [string, 'User' | 'Client' | 'Realm', string, Manifest][] = [
    ['the password of a User', 'User', 'Ready', user('probe', { passwordSecretRef: license })],
    ['the secret of a Client', 'Client', 'Ready', client('probe', { clientSecret: { secretRef: license } })],
    ['the license of a Realm', 'Realm', 'LicenseValid', realm('probe', { identityProvider })],
  ]

  test.each(probes)('%s', async (_, kind, type, probe) => {
    await operator.write('realm.yaml', realm())
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    /** Everything that an author sees: the whole status, and the Events. */
    const visible = () => ({
      status: operator.find(kind, 'probe')?.status,
      events: operator.events.filter(({ name }) => name === 'probe'),
    })
    const lastLogged = (): unknown =>
      operator.log.findLast(({ resource, level }) => level === 'warn' && resource === `${kind}/default/probe`)?.msg
    await operator.write('probe.yaml', probe)
    await eventually(() => expect(lastLogged()).toContain('no such Secret'))
    expect(operator.condition(kind, 'probe', type)?.reason).toBe('SecretNotFound')
    expect(operator.condition(kind, 'probe', type)?.message).toContain('is not usable')
    const without = structuredClone(visible())
    for (const [what, manifest, detail] of secrets) {
      await operator.write('secret.yaml', manifest)
      await eventually(() => expect(lastLogged(), what).toMatch(detail))
      expect([what, visible()]).toEqual([what, without])
      await operator.remove('secret.yaml')
      await eventually(() => expect(lastLogged(), what).toContain('no such Secret'))
      expect([what, visible()]).toEqual([what, without])
    }
  })
})
