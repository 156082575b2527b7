import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFieldServer } from '../../support/field_world.ts'
import type { FieldServer } from '../../support/field_world.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import type { TestAnswer } from '../../support/server.ts'
import type { EncryptionState, Keyring } from '../../../keyring/keyring.ts'
import { eventually } from '../../support/eventually.ts'

// Versions 1 to 5; the keys are the same in every keyring of this file, only their states change.
let full: Keyring
let server: FieldServer
let alice: string
/** A ciphertext under each version. */
let sealed: Record<number, string>

beforeAll(async () => {
  full = await realmKeyring({ versions: ['primary', 'pending', 'pending', 'pending', 'pending'] })
  server = await startFieldServer({ keyring: full, config: { failedDecryptsPerSubject: 0 } })
  alice = await server.tokenOf('alice')
  sealed = {}
  for (const version of [1, 2, 3, 4, 5]) {
    await rotateTo(withStates(full.encryption.map((key) => (key.version === version ? 'primary' : 'decrypt_only'))))
    sealed[version] = await server.sealed('dateOfBirth', `under ${version}`)
  }
})
afterAll(() => server?.stop())

const outcome = ({ status, body }: TestAnswer): [number, string] => [status, body.error]
const decrypt = (ciphertext: string) => server.decrypt(alice, { field: 'dateOfBirth', ciphertext })

function withStates(states: EncryptionState[]): Keyring {
  const encryption = full.encryption.map(({ key, ...rest }, at) => {
    const state = states[at] ?? 'decrypt_only'
    return { ...rest, state, ...(state !== 'destroyed' && key !== undefined && { key }) }
  })
  return { ...full, encryption }
}

/** The server reads the new keyring; it is known to have when it encrypts with its primary key. */
async function rotateTo(keyring: Keyring): Promise<void> {
  const primary = keyring.encryption.find(({ state }) => state === 'primary')?.version
  await server.writeKeyring(keyring)
  await eventually(async () => {
    const { body } = await server.encrypt(alice, { field: 'dateOfBirth', value: 'x' })
    expect(body.keyVersion).toBe(primary)
  })
}

describe('row 61: the states of a key version', () => {
  beforeAll(() => rotateTo(withStates(['decrypt_only', 'disabled', 'destroyed', 'primary', 'pending'])))

  test('decrypt_only and pending keys decrypt, and the result is stale', async () => {
    expect((await decrypt(sealed[1]!)).body).toEqual({
      field: 'dateOfBirth',
      value: 'under 1',
      keyVersion: 1,
      stale: true,
    })
    expect((await decrypt(sealed[4]!)).body).toMatchObject({ value: 'under 4', stale: false })
    expect((await decrypt(sealed[5]!)).body).toMatchObject({ value: 'under 5', stale: true })
  })

  test('disabled, destroyed, never there', async () => {
    expect(outcome(await decrypt(sealed[2]!))).toEqual([400, 'key_disabled'])
    expect(outcome(await decrypt(sealed[3]!))).toEqual([400, 'key_destroyed'])
    expect(outcome(await decrypt(sealed[1]!.replace('rk1:1:', 'rk1:6:')))).toEqual([400, 'key_version_unknown'])
    expect(outcome(await decrypt(sealed[1]!.replace('rk1:1:', 'rk1:2147483647:')))).toEqual([
      400,
      'key_version_unknown',
    ])
    for (const state of [2, 3]) {
      expect(outcome(await server.rewrap(alice, { field: 'dateOfBirth', ciphertext: sealed[state]! }))[0]).toBe(400)
    }
  })

  test('rewrap encrypts a value under the primary key and does not return it', async () => {
    const { status, body } = await server.rewrap(alice, { field: 'dateOfBirth', ciphertext: sealed[1] })
    expect(status).toBe(200)
    expect(body).toEqual({
      field: 'dateOfBirth',
      ciphertext: expect.stringMatching(/^rk1:4:/),
      keyVersion: 4,
      rewrapped: true,
    })
    expect((await decrypt(body.ciphertext)).body).toMatchObject({ value: 'under 1', stale: false })
    expect((await server.rewrap(alice, { field: 'dateOfBirth', ciphertext: body.ciphertext })).body).toEqual({
      field: 'dateOfBirth',
      ciphertext: body.ciphertext,
      keyVersion: 4,
      rewrapped: false,
    })
  })

  test('rewrap keeps form and binding', async () => {
    await rotateTo(withStates(['primary', 'disabled', 'destroyed', 'decrypt_only']))
    const bytes = { field: 'diary', valueBase64: '/wA=' }
    const { body: encrypted } = await server.encrypt(alice, bytes)
    await rotateTo(withStates(['decrypt_only', 'disabled', 'destroyed', 'primary']))
    const { body: rewrapped } = await server.rewrap(alice, encrypted)
    expect(rewrapped).toMatchObject({ keyVersion: 4, rewrapped: true })
    expect((await server.decrypt(alice, rewrapped)).body).toEqual({ ...bytes, keyVersion: 4, stale: false })
    const erin = await server.tokenOf('erin')
    expect(outcome(await server.decrypt(erin, rewrapped))).toEqual([400, 'decryption_failed'])
  })

  test('a damaged ciphertext under the primary key is an error', async () => {
    const body = sealed[4]!.slice(6)
    const broken = `rk1:4:${body[0]}${body[1] === 'A' ? 'B' : 'A'}${body.slice(2)}`
    expect(outcome(await server.rewrap(alice, { field: 'dateOfBirth', ciphertext: broken }))[0]).toBe(400)
  })
})

describe('row 61, row 63: malformed versions and prefixes', () => {
  const variants = (text: string): string[] => {
    const body = text.slice('rk1:1:'.length)
    const prefixes = ['', 'rk1:', 'rk1::', 'rk1:0:', 'rk1:01:', 'rk1:-1:', 'rk1:+1:', 'rk1:1.0:', 'rk1:1e0:', 'rk1: 1:']
    const others = [
      'rk1:../../x:',
      'rk1:latest:',
      'rk1:__proto__:',
      'rk1:2147483648:',
      'rk1:99999999999:',
      'rk1:\u0661:',
    ]
    const schemes = ['rk0:1:', 'rk2:1:', 'RK1:1:', 'vault:v1:', ' rk1:1:', '\ufeffrk1:1:', 'rk1:1:1:']
    return [...prefixes, ...others, ...schemes].map((prefix) => prefix + body)
  }

  test('each is malformed', async () => {
    for (const text of variants(sealed[1]!)) {
      expect(outcome(await decrypt(text)), text.slice(0, 20)).toEqual([400, 'invalid_ciphertext'])
    }
  })

  test('row 63: another version that is held does not open it', async () => {
    for (const version of [4, 5]) {
      expect(outcome(await decrypt(sealed[1]!.replace('rk1:1:', `rk1:${version}:`)))).toEqual([
        400,
        'decryption_failed',
      ])
    }
  })
})

describe('row 62: a ciphertext that was changed never gives a value', () => {
  /** Sent together: it is what they answer that counts. */
  async function decryptAll(field: string, texts: string[]): Promise<(string | undefined)[]> {
    const errors: (string | undefined)[] = []
    for (let at = 0; at < texts.length; at += 200) {
      const items = texts.slice(at, at + 200).map((ciphertext) => ({ field, ciphertext }))
      const { body } = await server.decrypt(alice, { items })
      for (const result of body.results) {
        expect(result).not.toHaveProperty('value')
        errors.push(result.error)
      }
    }
    return errors
  }

  test('a bit flipped in any byte', async () => {
    const bytes = Buffer.from(sealed[1]!.slice(6), 'base64url')
    const flipped = Array.from({ length: bytes.length * 8 }, (_, bit) => {
      const copy = Buffer.from(bytes)
      copy[bit >> 3]! ^= 1 << (bit & 7)
      return `rk1:1:${copy.toString('base64url')}`
    })
    const errors = await decryptAll('dateOfBirth', flipped)
    // The first byte holds the flags: two of its bits are known ones, six are not.
    expect(errors.slice(0, 8)).toEqual([
      'decryption_failed',
      'decryption_failed',
      ...Array.from({ length: 6 }, () => 'invalid_ciphertext'),
    ])
    expect(new Set(errors.slice(8))).toEqual(new Set(['decryption_failed']))
  })

  test('a letter changed anywhere', async () => {
    const text = sealed[1]!
    const letters = Array.from({ length: text.length }, (_, at) => {
      const other = text[at] === 'A' ? 'B' : 'A'
      return text.slice(0, at) + other + text.slice(at + 1)
    })
    const errors = await decryptAll('dateOfBirth', letters)
    expect(errors).toHaveLength(text.length)
    expect(new Set(errors)).toEqual(new Set(['invalid_ciphertext', 'decryption_failed']))
  })

  test('cut short anywhere, the tag at four bytes as well', async () => {
    const text = sealed[1]!
    const bytes = Buffer.from(text.slice(6), 'base64url')
    const cut = [
      ...Array.from({ length: text.length }, (_, length) => text.slice(0, length)),
      ...Array.from(
        { length: bytes.length },
        (_, length) => `rk1:1:${bytes.subarray(0, length).toString('base64url')}`,
      ),
      `rk1:1:${bytes.subarray(0, bytes.length - 12).toString('base64url')}`,
    ]
    const errors = await decryptAll('dateOfBirth', cut)
    expect(new Set(errors)).toEqual(new Set(['invalid_ciphertext', 'decryption_failed']))
  })

  test('base64url that is not the canonical one', async () => {
    const text = sealed[1]!
    const errors = await decryptAll('dateOfBirth', [
      `${text}=`,
      `${text}\n`,
      ` ${text}`,
      `${text.slice(0, 20)} ${text.slice(20)}`,
      text.replaceAll('_', '/').replaceAll('-', '+') === text
        ? `${text}!`
        : text.replaceAll('_', '/').replaceAll('-', '+'),
      `${text}\u0000`,
    ])
    expect(new Set(errors)).toEqual(new Set(['invalid_ciphertext']))
  })

  test('taken to another field, another realm, other key bytes', async () => {
    expect(outcome(await server.decrypt(alice, { field: 'code', ciphertext: sealed[1] }))).toEqual([
      400,
      'decryption_failed',
    ])
    expect(outcome(await server.decrypt(alice, { field: 'diary', ciphertext: sealed[1] }))).toEqual([
      400,
      'decryption_failed',
    ])
    const foreign = await startFieldServer({ config: { failedDecryptsPerSubject: 0 } })
    try {
      const taken = await foreign.sealed('dateOfBirth', 'theirs')
      expect(outcome(await decrypt(taken))).toEqual([400, 'decryption_failed'])
      // Their realm under our keys: the same version number, other bytes.
      const token = await foreign.tokenOf('alice')
      expect(outcome(await foreign.decrypt(token, { field: 'dateOfBirth', ciphertext: sealed[1] }))).toEqual([
        400,
        'decryption_failed',
      ])
    } finally {
      await foreign.stop()
    }
  })

  test('all refusals of one kind are one text', async () => {
    const bytes = Buffer.from(sealed[1]!.slice(6), 'base64url')
    const flipped = (at: number): string => {
      const copy = Buffer.from(bytes)
      copy[at]! ^= 1
      return `rk1:1:${copy.toString('base64url')}`
    }
    const answers = await Promise.all([
      decrypt(flipped(1)),
      decrypt(flipped(30)),
      decrypt(flipped(46)),
      decrypt(flipped(bytes.length - 1)),
      server.decrypt(alice, { field: 'code', ciphertext: sealed[1] }),
    ])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })
})

describe('when field encryption is available', () => {
  const now = { offset: 0 }
  let lapsing: FieldServer
  let token: string
  let stored: string
  beforeAll(async () => {
    const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
    lapsing = await startFieldServer({
      now: () => new Date(Date.now() + now.offset),
      realm: { encryption: { missing: [], licenseExpiresAt: at(100), realmAdminUntil: at(200) } },
    })
    token = await lapsing.tokenOf('alice')
    stored = await lapsing.sealed('dateOfBirth', 'stored')
  })
  afterAll(() => lapsing?.stop())

  const statuses = async () => {
    const item = { field: 'dateOfBirth', value: 'x', ciphertext: stored }
    const answers = await Promise.all([
      lapsing.encrypt(token, item),
      lapsing.decrypt(token, item),
      lapsing.rewrap(token, item),
    ])
    return answers.map(({ status, body }) => (status === 200 ? 200 : body.error))
  }

  test('the moment the license ends encrypting stops, and nothing else', async () => {
    expect(await statuses()).toEqual([200, 200, 200])
    now.offset = 101_000
    try {
      expect(await statuses()).toEqual(['field_encryption_unavailable', 200, 200])
    } finally {
      now.offset = 0
    }
  })

  test('so it does when a precondition is missing, before the body is parsed, and after the token', async () => {
    await lapsing.addRealm({ ...lapsing.realm, encryption: { missing: ['GovernanceDisabled'] } }, null)
    await eventually(async () => expect(await statuses()).toEqual(['field_encryption_unavailable', 200, 200]))
    const answer = await lapsing.encrypt(token, '{')
    expect([answer.status, answer.body]).toEqual([
      403,
      { error: 'field_encryption_unavailable', error_description: 'Field encryption is not available in this realm' },
    ])
    expect((await lapsing.encrypt('garbage', '{')).status).toBe(401)
  })

  test('a field that is removed is gone', async () => {
    const fields = lapsing.realm.fields.filter(({ name }) => name !== 'dateOfBirth')
    await lapsing.addRealm({ ...lapsing.realm, fields }, null)
    await eventually(async () =>
      expect(await statuses()).toEqual(['insufficient_scope', 'insufficient_scope', 'insufficient_scope']),
    )
  })

  test('where it never began, nothing is available', async () => {
    const never = await startFieldServer({
      keyring: await realmKeyring({ versions: [] }),
      realm: { encryption: { missing: ['LicenseMissing'] } },
    })
    try {
      const access = await never.tokenOf('alice')
      for (const endpoint of ['encrypt', 'decrypt', 'rewrap'] as const) {
        const answer = await never[endpoint](access, { field: 'dateOfBirth', value: 'x', ciphertext: stored })
        expect(outcome(answer)).toEqual([403, 'field_encryption_unavailable'])
      }
    } finally {
      await never.stop()
    }
  })
})

test('met, but the keyring has no key yet: 503 for one and for many', async () => {
  const keyless = await startFieldServer({ keyring: await realmKeyring({ versions: [] }) })
  try {
    const token = await keyless.tokenOf('alice')
    const item = { field: 'dateOfBirth', value: 'x' }
    for (const json of [item, { items: [item, item] }]) {
      const answer = await keyless.encrypt(token, json)
      expect(outcome(answer)).toEqual([503, 'keyring_unavailable'])
      expect(answer.headers.get('retry-after')).toMatch(/^[0-9]+$/)
    }
  } finally {
    await keyless.stop()
  }
})

describe('more than so many failed decrypts of one subject in a minute', () => {
  test('429 for that subject alone, for a minute, and only where something is decrypted', async () => {
    let offset = 0
    const limited = await startFieldServer({
      now: () => new Date(Date.now() + offset),
      config: { failedDecryptsPerSubject: 4 },
    })
    try {
      const [token, erin] = [await limited.tokenOf('alice'), await limited.tokenOf('erin')]
      const ciphertext = await limited.sealed('dateOfBirth', 'x')
      const good = { field: 'dateOfBirth', ciphertext }
      const bad = { field: 'dateOfBirth', ciphertext: `${ciphertext.slice(0, -8)}AAAAAAAA` }
      expect(outcome(await limited.decrypt(token, bad))[1]).toBe('decryption_failed')
      expect(outcome(await limited.rewrap(token, bad))[1]).toBe('decryption_failed')
      expect((await limited.decrypt(token, good)).status).toBe(200)

      // The limit is reached within this batch; what comes after it is refused unseen.
      const { body } = await limited.decrypt(token, { items: [bad, good, bad, good, bad] })
      expect(body.results.map(({ error }: { error?: string }) => error)).toEqual([
        'decryption_failed',
        undefined,
        'decryption_failed',
        'rate_limited',
        'rate_limited',
      ])
      for (const answer of [
        await limited.decrypt(token, good),
        await limited.rewrap(token, good),
        await limited.decrypt(token, { items: [good] }),
      ]) {
        expect(outcome(answer)).toEqual([429, 'rate_limited'])
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      }
      // Permission comes before the limit.
      expect(outcome(await limited.decrypt(token, { field: 'iban', ciphertext }))).toEqual([403, 'insufficient_scope'])
      expect((await limited.encrypt(token, { field: 'dateOfBirth', value: 'x' })).status).toBe(200)
      expect((await limited.decrypt(erin, good)).status).toBe(200)
      offset = 61_000
      expect((await limited.decrypt(token, good)).status).toBe(200)
    } finally {
      await limited.stop()
    }
  })
})

test('row 66: half-way through a rotation every replica reads what any other wrote', async () => {
  const before = withStates(['primary', 'pending'])
  const after = withStates(['decrypt_only', 'primary'])
  const [old, ahead] = await Promise.all([
    startFieldServer({ keyring: before, config: { failedDecryptsPerSubject: 0 } }),
    startFieldServer({ keyring: after, config: { failedDecryptsPerSubject: 0 } }),
  ])
  try {
    const written = [await old.sealed('dateOfBirth', 'old'), await ahead.sealed('dateOfBirth', 'new')]
    expect(written.map((text) => text.slice(0, 6))).toEqual(['rk1:1:', 'rk1:2:'])
    for (const replica of [old, ahead]) {
      const token = await replica.tokenOf('alice')
      const items = written.map((ciphertext) => ({ field: 'dateOfBirth', ciphertext }))
      const { body } = await replica.decrypt(token, { items })
      expect(body.results.map(({ value }: { value: string }) => value)).toEqual(['old', 'new'])
    }
  } finally {
    await Promise.all([old.stop(), ahead.stop()])
  }
})
