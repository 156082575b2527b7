import argon2 from 'argon2'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { client, password, realm, secret, user } from '../manifests.ts'
import { eventually, operatorUnderTest } from '../operator_under_test.ts'
import type { OperatorUnderTest } from '../operator_under_test.ts'

interface Row {
  subject: string
  username: string
  enabled: boolean
  password_hash: string | null
  password_source: string | null
}

describe('a User', () => {
  let operator: OperatorUnderTest
  beforeEach(async () => {
    operator = await operatorUnderTest()
  })
  afterEach(() => operator.end())

  const row = async (username: string): Promise<Row | undefined> =>
    (await operator.rows<Row>('select * from users where username = $1', username))[0]

  test('becomes a row under its uid, with an argon2id hash of its password', async () => {
    await operator.write('realm.yaml', realm())
    await operator.write('alice.yaml', user('alice', { email: 'alice@example.com' }), password('alice'))
    await operator.start()
    await operator.untilReady('User', 'alice')
    const uid = operator.find('User', 'alice')?.metadata.uid
    expect(await row('alice')).toMatchObject({ subject: uid, enabled: true })
    expect(await argon2.verify((await row('alice'))?.password_hash ?? '', 'alice-password-1')).toBe(true)
    expect(operator.find('User', 'alice')?.status).toMatchObject({ subject: uid, observedGeneration: 1 })
    await operator.write('client.yaml', client('web'))
    await operator.untilReady('Client', 'web')
    expect(secret).toBeDefined()
  })
})
