import argon2 from 'argon2'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { insertSession } from '../../support/sessions.ts'
import { namespace, password, realm, secret, user } from '../manifests.ts'
import { eventually, operatorUnderTest } from '../operator_under_test.ts'
import type { OperatorUnderTest } from '../operator_under_test.ts'

interface Row {
  subject: string
  resource_uid: string
  username: string
  enabled: boolean
  subject_pinned: boolean
  password_hash: string | null
  password_source: string | null
}

describe('a User', () => {
  let operator: OperatorUnderTest
  beforeEach(async () => {
    operator = await operatorUnderTest()
    await operator.write('realm.yaml', realm())
  })
  afterEach(() => operator.end())

  const rowOf = async (username: string): Promise<Row | undefined> =>
    (await operator.rows<Row>('select * from users where username = $1', username))[0]
  const hasPassword = async (username: string, value: string): Promise<boolean> =>
    argon2.verify((await rowOf(username))?.password_hash ?? '', value)
  const logged = (): string => operator.log.map(({ msg }) => msg).join('\n')
  const uidOf = (name: string): string => operator.find('User', name)?.metadata.uid ?? ''

  async function logIn(username: string): Promise<string> {
    const sid = crypto.randomUUID()
    const soon = new Date(Date.now() + 3_600_000)
    await insertSession(operator.database.pool, {
      realm: 'shop',
      sid,
      clientId: 'web',
      subject: (await rowOf(username))?.subject ?? '',
      requestedScope: 'openid',
      authTime: new Date(),
      expiresAt: soon,
      idleExpiresAt: soon,
      refreshKid: 'kid',
    })
    return sid
  }
  const endOf = async (sid: string): Promise<string | null | undefined> =>
    (await operator.rows<{ end_reason: string | null }>('select end_reason from sessions where sid = $1', sid))[0]
      ?.end_reason

  test('becomes a row under its uid, with an argon2id hash of its password', async () => {
    await operator.write('alice.yaml', user('alice', { email: 'alice@example.com' }), password('alice'))
    await operator.start()
    await operator.untilReady('User', 'alice')
    expect(await rowOf('alice')).toMatchObject({ subject: uidOf('alice'), enabled: true, subject_pinned: false })
    expect(await hasPassword('alice', 'alice-password-1')).toBe(true)
    expect(operator.find('User', 'alice')?.status).toMatchObject({ subject: uidOf('alice'), observedGeneration: 1 })
    expect(operator.find('User', 'alice')?.metadata.finalizers).toEqual(['realmkeeper.io/cleanup'])
  })

  test('row 93: waits for its realm, is registered when it appears, and removed with it', async () => {
    await operator.remove('realm.yaml')
    await operator.write('alice.yaml', user('alice'), password('alice'))
    await operator.start()
    await operator.untilReady('User', 'alice', 'False', 'RealmNotFound')
    await operator.write('realm.yaml', realm())
    await operator.untilReady('User', 'alice')
    await operator.remove('realm.yaml')
    await operator.untilReady('User', 'alice', 'False', 'RealmNotFound')
    expect(await rowOf('alice')).toBeUndefined()
    expect(operator.find('User', 'alice')?.status).not.toHaveProperty('subject')
  })

  test('row 93: of another namespace, must be admitted by the Realm, and loses its row when that narrows', async () => {
    const elsewhere = { namespace: 'team' }
    await operator.write('ns.yaml', namespace('team', { tier: 'one' }))
    await operator.write(
      'alice.yaml',
      user('alice', { realmRef: { name: 'shop', namespace: 'default' }, passwordSecretRef: undefined }, elsewhere),
    )
    await operator.start()
    await operator.untilReady('User', 'alice', 'False', 'NamespaceNotAllowed', 'team')
    await operator.write('realm.yaml', realm('shop', { allowedNamespaces: { from: 'All' } }))
    await operator.untilReady('User', 'alice', 'True', undefined, 'team')
    const selector = (tier: string) => ({ from: 'Selector', selector: { matchLabels: { tier } } })
    await operator.write('realm.yaml', realm('shop', { allowedNamespaces: selector('two') }))
    await operator.untilReady('User', 'alice', 'False', 'NamespaceNotAllowed', 'team')
    expect(await rowOf('alice')).toBeUndefined()
    await operator.write('ns.yaml', namespace('team', { tier: 'two' }))
    await operator.untilReady('User', 'alice', 'True', undefined, 'team')
  })

  test('row 95: waits for a missing Secret or entry, and applies its changes', async () => {
    await operator.write('alice.yaml', user('alice'))
    await operator.start()
    await operator.untilReady('User', 'alice', 'False', 'SecretNotFound')
    expect(await rowOf('alice')).toBeUndefined()
    await operator.write('secret.yaml', secret('alice-password', { other: 'x' }))
    await eventually(() => expect(logged()).toContain('no such entry'))
    await operator.write('secret.yaml', password('alice'))
    await operator.untilReady('User', 'alice')
    await operator.write('secret.yaml', password('alice', 'alice-password-2'))
    await eventually(async () => expect(await hasPassword('alice', 'alice-password-2')).toBe(true))
  })

  test('keeps its password, and other edits apply, when the Secret is deleted later', async () => {
    await operator.write('alice.yaml', user('alice'))
    await operator.write('secret.yaml', password('alice'))
    await operator.start()
    await operator.untilReady('User', 'alice')
    await operator.remove('secret.yaml')
    await operator.untilReady('User', 'alice', 'False', 'SecretNotFound')
    await operator.write('alice.yaml', user('alice', { enabled: false }))
    await eventually(async () => expect(await rowOf('alice')).toMatchObject({ enabled: false }))
    expect(await hasPassword('alice', 'alice-password-1')).toBe(true)
  })

  test.each([
    { what: 'empty', value: '', message: 'is empty' },
    { what: 'a newline alone', value: '\n', message: 'is empty' },
    { what: 'with NUL', value: 'abc\0def', message: 'U+0000' },
    { what: 'of 1025 characters', value: 'x'.repeat(1025), message: 'longer than 1024' },
    { what: 'of a megabyte', value: 'x'.repeat(1024 * 1024 - 64), message: 'longer than 1024' },
  ])('row 95: a password that is $what is refused without being shown', async ({ value, message }) => {
    await operator.write('alice.yaml', user('alice'), secret('alice-password', { password: value }))
    await operator.start()
    await operator.untilReady('User', 'alice', 'False', 'SecretNotFound')
    await eventually(() => expect(logged()).toContain(message))
    expect(await rowOf('alice')).toBeUndefined()
  })

  test('row 95: a password that is not text is refused', async () => {
    const data = { password: Buffer.from([0xff, 0xfe, 0x80]).toString('base64') }
    await operator.write('alice.yaml', user('alice'), { ...secret('alice-password', {}), stringData: undefined, data })
    await operator.start()
    await operator.untilReady('User', 'alice', 'False', 'SecretNotFound')
    await eventually(() => expect(logged()).toContain('UTF-8'))
  })

  test('row 19: one newline at the end is dropped and reported, and the rest is compared in NFC', async () => {
    await operator.write('alice.yaml', user('alice'), secret('alice-password', { password: ' Zoe\u0308\n' }))
    await operator.start()
    await operator.untilReady('User', 'alice')
    expect(await hasPassword('alice', ' Zo\u00eb')).toBe(true)
    await eventually(() => expect(logged()).toContain('newline'))
    await operator.write(
      'alice.yaml',
      user('alice', { firstName: 'A' }),
      secret('alice-password', { password: ' Zoe\u0308\n' }),
    )
    await operator.untilReady('User', 'alice')
    expect(operator.condition('User', 'alice')?.message).not.toContain('newline')
  })

  test('a changed password ends the sessions of this user only', async () => {
    await operator.write('users.yaml', user('alice'), user('bob'), password('bob'))
    await operator.write('secret.yaml', password('alice'))
    await operator.start()
    await operator.untilReady('User', 'alice')
    await operator.untilReady('User', 'bob')
    const [alices, bobs] = [await logIn('alice'), await logIn('bob')]
    await operator.write('secret.yaml', password('alice', 'alice-password-2'))
    await eventually(async () => expect(await endOf(alices)).toBe('password_changed'))
    expect(await endOf(bobs)).toBeNull()
    const audit = await operator.rows<{ action: string; details: string }>('select action, details from audit')
    expect(audit.map(({ action }) => action)).toContain('session_ended')
  })

  test('a Secret that changed in other ways than the password keeps hash and sessions', async () => {
    await operator.write('alice.yaml', user('alice'))
    await operator.write('secret.yaml', password('alice'))
    await operator.start()
    await operator.untilReady('User', 'alice')
    const before = await rowOf('alice')
    const sid = await logIn('alice')
    await operator.write('secret.yaml', secret('alice-password', { password: 'alice-password-1', note: 'x' }))
    await eventually(async () => expect((await rowOf('alice'))?.password_source).not.toBe(before?.password_source))
    expect((await rowOf('alice'))?.password_hash).toBe(before?.password_hash)
    expect(await endOf(sid)).toBeNull()
  })

  test('a deleted User cannot log in, its sessions end, and the object goes', async () => {
    await operator.write('alice.yaml', user('alice'), password('alice'))
    await operator.start()
    await operator.untilReady('User', 'alice')
    const sid = await logIn('alice')
    await operator.remove('alice.yaml')
    await eventually(() => expect(operator.find('User', 'alice')).toBeUndefined())
    expect(await rowOf('alice')).toBeUndefined()
    expect(await endOf(sid)).toBe('user_removed')
  })

  test('row 94: the older of two claimants holds a name, in any spelling, also after a restart; then the other', async () => {
    await operator.write('first.yaml', user('first', { username: 'Stra\u00dfe', passwordSecretRef: undefined }))
    await operator.start()
    await operator.untilReady('User', 'first')
    await operator.write('a.yaml', user('a', { username: 'STRA\u00dfE', passwordSecretRef: undefined }))
    await operator.untilReady('User', 'a', 'False', 'UsernameTaken')
    expect(operator.condition('User', 'a')?.message).toContain('default/first')
    await operator.stop()
    await operator.start()
    await operator.untilReady('User', 'a', 'False', 'UsernameTaken')
    await operator.untilReady('User', 'first')
    await operator.remove('first.yaml')
    await operator.untilReady('User', 'a')
  })

  test('row 94: without a recorded owner the older wins, however often the rows are lost', async () => {
    await operator.write('b.yaml', user('b', { username: 'same', passwordSecretRef: undefined }))
    await operator.start()
    await operator.untilReady('User', 'b')
    // The age of a resource has whole seconds; of two resources of one second, the name decides.
    const second = () => Math.floor(Date.now() / 1000)
    const created = Date.parse(operator.find('User', 'b')?.metadata.creationTimestamp ?? '') / 1000
    await eventually(async () => expect(second()).toBeGreaterThan(created))
    await operator.write('a.yaml', user('a', { username: 'same', passwordSecretRef: undefined }))
    await operator.untilReady('User', 'a', 'False', 'UsernameTaken')
    await operator.stop()
    await operator.database.pool.query('delete from users')
    await operator.start()
    await eventually(async () => expect((await rowOf('same'))?.resource_uid).toBe(uidOf('b')))
    await operator.untilReady('User', 'a', 'False', 'UsernameTaken')
  })

  test('a sub belongs to one User permanently', async () => {
    await operator.write('a.yaml', user('a', { subject: 'fixed', passwordSecretRef: undefined }))
    await operator.start()
    await operator.untilReady('User', 'a')
    expect(await rowOf('a')).toMatchObject({ subject: 'fixed', subject_pinned: true })
    await operator.write('b.yaml', user('b', { subject: 'fixed', passwordSecretRef: undefined }))
    await operator.untilReady('User', 'b', 'False', 'SubjectTaken')

    await operator.remove('a.yaml')
    await eventually(() => expect(operator.find('User', 'a')).toBeUndefined())
    await operator.untilReady('User', 'b', 'False', 'SubjectTaken')
    await operator.remove('b.yaml')
    await eventually(() => expect(operator.find('User', 'b')).toBeUndefined())
    // A User of its name may claim it again.
    await operator.write('a.yaml', user('a', { subject: 'fixed', passwordSecretRef: undefined }))
    await operator.untilReady('User', 'a')
  })

  test('a sub can be fixed later to the one in use', async () => {
    await operator.write('a.yaml', user('a', { passwordSecretRef: undefined }))
    await operator.start()
    await operator.untilReady('User', 'a')
    const uid = uidOf('a')
    await operator.write('a.yaml', user('a', { subject: uid, passwordSecretRef: undefined }))
    await eventually(async () => expect(await rowOf('a')).toMatchObject({ subject: uid, subject_pinned: true }))
    await operator.untilReady('User', 'a')
  })

  test('row 25: a stored hash with other parameters is replaced from the Secret, without ending sessions', async () => {
    await operator.write('alice.yaml', user('alice'), password('alice'))
    await operator.start()
    await operator.untilReady('User', 'alice')
    const sid = await logIn('alice')
    for (const hash of [
      '$argon2id$v=19$m=2097152,t=2000,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2g',
      '$2b$10$x',
      '',
    ]) {
      await operator.stop()
      await operator.database.pool.query('update users set password_hash = $1', [hash])
      await operator.start()
      await eventually(async () => expect((await rowOf('alice'))?.password_hash).toContain('m=1024,'))
      expect(await hasPassword('alice', 'alice-password-1')).toBe(true)
    }
    expect(await endOf(sid)).toBeNull()
  })

  test.for(['keyring', 'audit-key'])('a %s cannot be referenced', async (name) => {
    const labelled = { labels: { [`realmkeeper.io/${name}`]: 'true' } }
    await operator.write('alice.yaml', user('alice'), secret('alice-password', { password: 'long-enough' }, labelled))
    await operator.start()
    await operator.untilReady('User', 'alice', 'False', 'SecretNotFound')
    expect(await rowOf('alice')).toBeUndefined()
  })

  test('a conflict is an Event once, and success is none', async () => {
    await operator.write('first.yaml', user('first', { username: 'same', passwordSecretRef: undefined }))
    await operator.start()
    await operator.untilReady('User', 'first')
    await operator.write(
      'second.yaml',
      user('second', { username: 'same', passwordSecretRef: { name: 'x', key: 'y' } }),
    )
    await operator.untilReady('User', 'second', 'False', 'UsernameTaken')
    await operator.write('second.yaml', user('second', { username: 'same', passwordSecretRef: undefined }))
    await operator.untilReady('User', 'second', 'False', 'UsernameTaken')
    expect(operator.events).toEqual([
      expect.objectContaining({ name: 'User/second', type: 'Warning', reason: 'UsernameTaken' }),
    ])
  })
})
