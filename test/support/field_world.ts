import type { Keyring } from '../../keyring/keyring.ts'
import type { EncryptionField, RealmRow } from '../../store/realms.ts'
import type { UserRow } from '../../store/users.ts'
import { realmKeyring } from './realm_keyring.ts'
import { ALICE_PASSWORD, SHOP_SECRET, startServer } from './server.ts'
import type { TestAnswer, TestServer, TestServerOptions } from './server.ts'
import type { TestWorld } from './world.ts'

export const FIELDS: EncryptionField[] = [
  { name: 'dateOfBirth', tag: 'dob', binding: 'Realm', maxValueBytes: 4096 },
  { name: 'diary', tag: 'diary', binding: 'Subject', maxValueBytes: 65_536 },
  { name: 'code', tag: 'code', binding: 'Realm', maxValueBytes: 8 },
  { name: 'iban', tag: 'iban', binding: 'Realm', maxValueBytes: 4096 },
]

/** Every role of every field, except of `iban`. */
export const HELD = FIELDS.filter(({ name }) => name !== 'iban').flatMap(({ tag }) => [
  `_svc_${tag}.selfencrypt`,
  `_svc_${tag}.selfdecrypt`,
])

export interface FieldServer extends TestServer {
  realm: RealmRow
  keyring: Keyring
  /** `alice` and `erin` have a fixed subject, `bob` has none. All three hold the roles of `HELD`. */
  alice: UserRow
  bob: UserRow
  /** Has no roles. */
  carol: UserRow
  /** An access token of a user. The default scope asks for all roles of `HELD`. */
  tokenOf(username: string, scope?: string, clientId?: string): Promise<string>
  encrypt(token: string | undefined, json: unknown): Promise<TestAnswer>
  decrypt(token: string | undefined, json: unknown): Promise<TestAnswer>
  rewrap(token: string | undefined, json: unknown): Promise<TestAnswer>
  /** Encrypts a value as alice and returns the ciphertext. */
  sealed(field: string, value: string): Promise<string>
}

/** A server whose realm acme encrypts fields. */
export async function startFieldServer(
  options: Omit<TestServerOptions, 'prepare'> & { keyring?: Keyring; realm?: Partial<RealmRow> } = {},
): Promise<FieldServer> {
  const keyring = options.keyring ?? (await realmKeyring())
  let rows: Awaited<ReturnType<typeof addFieldRows>> | undefined
  const server = await startServer({
    ...options,
    async prepare(world) {
      rows = await addFieldRows(world, keyring, options.realm)
    },
  })
  if (!rows) throw new Error('the rows were not prepared')

  const call = (path: string) => (token: string | undefined, json: unknown) =>
    server.request(path, {
      ...(typeof json === 'string' ? { body: json } : { json }),
      headers: {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    })
  const tokenOf: FieldServer['tokenOf'] = async (
    username,
    scope = ['openid', ...HELD].join(' '),
    clientId = 'shop',
  ) => {
    const { status, body } = await server.token({
      grant_type: 'password',
      username,
      password: ALICE_PASSWORD,
      scope,
      client_id: clientId,
      client_secret: clientId === 'shop' ? SHOP_SECRET : undefined,
    })
    if (status !== 200) throw new Error(`no token for ${username}: ${body.error_description}`)
    return body.access_token
  }
  const encrypt = call('encrypt')
  return {
    ...server,
    ...rows,
    keyring,
    tokenOf,
    encrypt,
    decrypt: call('decrypt'),
    rewrap: call('rewrap'),
    async sealed(field, value) {
      const { status, body } = await encrypt(await tokenOf('alice'), { field, value })
      if (status !== 200) throw new Error(`not encrypted: ${body.error_description}`)
      return body.ciphertext
    },
  }
}

/** The rows of `startFieldServer`, in the realm acme. */
export async function addFieldRows(world: TestWorld, keyring: Keyring, realm: Partial<RealmRow> = {}) {
  const row = await world.addRealm({ fields: FIELDS, encryption: { missing: [] }, ...realm }, keyring)
  await world.addClient({ clientId: 'shop' }, SHOP_SECRET)
  await world.addClient({ clientId: 'app' })
  const rows = {
    realm: row,
    alice: await world.addUser({ username: 'alice', subject: 'alice-subject', subjectPinned: true }, ALICE_PASSWORD),
    bob: await world.addUser({ username: 'bob' }, ALICE_PASSWORD),
    carol: await world.addUser({ username: 'carol', subjectPinned: true }, ALICE_PASSWORD),
  }
  const erin = await world.addUser({ username: 'erin', subject: 'erin-subject', subjectPinned: true }, ALICE_PASSWORD)
  for (const { subject } of [rows.alice, rows.bob, erin]) await world.grant(row.realm, subject, HELD)
  return rows
}
