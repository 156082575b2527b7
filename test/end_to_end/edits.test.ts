import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIELD_SCOPE, startDevWorld, until } from './dev_world.ts'
import type { DevWorld } from './dev_world.ts'

const DEADLINE = 10

describe('an edit of a manifest is served', () => {
  let world: DevWorld
  beforeAll(async () => {
    world = await startDevWorld('edits')
    await world.approveAll()
  })
  afterAll(() => world.remove())

  const status = async (user: string): Promise<number> => (await world.login(user)).status
  const fieldToken = async (user: string): Promise<string> =>
    (await world.login(user, { scope: FIELD_SCOPE })).body.access_token ?? ''

  it('a new user can log in; a removed one cannot, and the session ends', async () => {
    const file = `${world.dir}/06_carol.yaml`
    const carol = readFileSync(`${world.dir}/04_users.yaml`, 'utf8').split('---').slice(0, 2).join('---')
    writeFileSync(file, carol.replaceAll('alice', 'carol').replaceAll('Alice', 'Carol'))
    await until(async () => (await status('carol')) === 200, DEADLINE)
    const token = (await world.login('carol')).body.access_token ?? ''
    expect((await world.introspect(token)).body).toMatchObject({ active: true, username: 'carol' })

    rmSync(file)
    await until(async () => (await status('carol')) === 401, DEADLINE)
    expect((await world.introspect(token)).body).toEqual({ active: false })
  })

  it('a removed role is missing in the next token, in introspection of earlier tokens, and for decryption with them', async () => {
    const token = await fieldToken('bob')
    const { body } = await world.field('encrypt', token, { field: 'dateOfBirth', value: '1990-01-31' })
    expect(
      (await world.field('decrypt', token, { field: 'dateOfBirth', ciphertext: body.ciphertext })).body,
    ).toMatchObject({ value: '1990-01-31' })

    const original = readFileSync(`${world.dir}/05_role_assignments.yaml`, 'utf8')
    world.edit('05_role_assignments.yaml', (text) => text.replace('    - _svc_dob.selfdecrypt\n', ''))
    await until(async () => {
      const { body: seen } = await world.introspect(token)
      return !(seen.realm_access as { roles: string[] }).roles.includes('_svc_dob.selfdecrypt')
    }, DEADLINE)
    expect(await world.field('decrypt', token, { field: 'dateOfBirth', ciphertext: body.ciphertext })).toMatchObject({
      status: 403,
      body: { error: 'insufficient_scope' },
    })
    expect(JSON.stringify((await world.login('bob', { scope: FIELD_SCOPE })).body.scope)).not.toContain('selfdecrypt')
    expect((await world.field('encrypt', token, { field: 'dateOfBirth', value: 'x' })).status).toBe(200)

    writeFileSync(`${world.dir}/05_role_assignments.yaml`, original)
  })

  it('a broken file keeps its last good state and is reported with file and line', async () => {
    const good = readFileSync(`${world.dir}/04_users.yaml`, 'utf8')
    world.edit('04_users.yaml', (text) => text.replace('username: bob', 'username: [bob'))
    await until(() => /04_users\.yaml:\d+/.test(world.output()), DEADLINE)
    expect(await status('alice')).toBe(200)
    expect(await status('bob')).toBe(200)
    // Nothing is deleted while a file does not parse, not even objects of other files.
    writeFileSync(`${world.dir}/04_users.yaml`, good)
    expect(await status('bob')).toBe(200)
  })

  it('an object with a field that the schema refuses keeps its last good state, and the path is reported', async () => {
    const good = readFileSync(`${world.dir}/04_users.yaml`, 'utf8')
    world.edit('04_users.yaml', (text) => text.replace('username: bob', 'username: bob\n  pasword: typo'))
    await until(() => world.output().includes('spec.pasword'), DEADLINE)
    expect(await status('bob')).toBe(200)
    writeFileSync(`${world.dir}/04_users.yaml`, good)
  })

  it('a move between files is no deletion: sessions continue', async () => {
    const token = (await world.login('bob')).body.access_token ?? ''
    renameSync(`${world.dir}/04_users.yaml`, `${world.dir}/09_users.yaml`)
    // Longer than two polls, after which a missing object is deleted.
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect((await world.introspect(token)).body).toMatchObject({ active: true })
    renameSync(`${world.dir}/09_users.yaml`, `${world.dir}/04_users.yaml`)
  })

  it('row 30: a disabled user cannot refresh, an enabled one again logs in', async () => {
    const { refresh_token = '' } = (await world.login('bob')).body
    world.edit('04_users.yaml', (text) => text.replace('username: bob', 'username: bob\n  enabled: false'))
    await until(async () => (await status('bob')) === 400, DEADLINE)
    const refused = await world.post('/token', {
      grant_type: 'refresh_token',
      client_id: 'shop',
      client_secret: 'shop-secret-for-development',
      refresh_token,
    })
    expect(refused).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant', error_description: 'Account disabled' },
    })
    world.edit('04_users.yaml', (text) => text.replace('\n  enabled: false', ''))
    await until(async () => (await status('bob')) === 200, DEADLINE)
  })

  it('row 30: a new client secret takes effect at once and ends no session', async () => {
    const token = (await world.login('bob')).body.access_token ?? ''
    world.edit('03_client.yaml', (text) =>
      text.replace('shop-secret-for-development', 'another-secret-for-development'),
    )
    await until(async () => (await status('bob')) === 401, DEADLINE)
    const form = { client_id: 'shop', client_secret: 'another-secret-for-development' }
    expect((await world.post('/token/introspect', { ...form, token })).body).toMatchObject({ active: true })
    world.edit('03_client.yaml', (text) =>
      text.replace('another-secret-for-development', 'shop-secret-for-development'),
    )
    await until(async () => (await status('bob')) === 200, DEADLINE)
  })
})
