import { createHmac } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { exportSPKI } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ServedRealm } from '../../../server/realms/realms.ts'
import { MAX_TOKEN_LENGTH, readAccessTokenClaims } from '../../../server/tokens/claims.ts'
import type { AccessTokenClaims } from '../../../server/tokens/claims.ts'
import { createVerifiedTokens } from '../../../server/tokens/verified_tokens.ts'
import type { VerifiedTokens } from '../../../server/tokens/verified_tokens.ts'
import { goodToken, readSignedClaims } from '../../../server/tokens/verify_access_token.ts'
import type { ClientRow } from '../../../store/clients.ts'
import { loadKeyring } from '../../../keyring/loaded_keyring.ts'
import type { LoadedKeyring } from '../../../keyring/loaded_keyring.ts'
import type { LiveSession } from '../../../store/sessions/live_sessions.ts'
import type { RealmRow } from '../../../store/realms.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { clientRow, realmRow } from '../../support/rows.ts'
import { rawJws } from '../../support/signed_tokens.ts'

const now = new Date('2030-01-01T00:00:00Z')
const seconds = now.getTime() / 1000
const issuer = 'http://localhost:8080/auth/realms/acme'
const sid = '11111111-2222-3333-4444-555555555555'

const claims: AccessTokenClaims = {
  iss: issuer,
  sub: 'alice-sub',
  aud: 'shop',
  azp: 'shop',
  exp: seconds + 300,
  iat: seconds,
  jti: 'j1',
  sid,
  scope: ['openid'],
  roles: [],
}
const payload = { ...claims, typ: 'Bearer', scope: 'openid', realm_access: { roles: [] } }

function served(keyring: LoadedKeyring, row = realmRow()): ServedRealm {
  return { name: row.realm, row, issuer, findClient: async () => undefined, keyring: () => keyring }
}

describe('whether a token is good at this moment', () => {
  interface Moment {
    claims?: Partial<AccessTokenClaims>
    row?: Partial<RealmRow>
    tokens?: Partial<RealmRow['tokens']>
    session?: Partial<LiveSession> | null
    user?: Partial<NonNullable<LiveSession['user']>> | null
    client?: Partial<ClientRow> | null
  }
  const user = {
    subject: 'alice-sub',
    username: 'alice',
    email: null,
    emailVerified: false,
    firstName: null,
    lastName: null,
    enabled: true,
    subjectPinned: false,
  }
  const session: LiveSession = {
    realm: 'acme',
    sid,
    clientId: 'shop',
    requestedScope: 'openid',
    authTime: now,
    expiresAt: new Date(now.getTime() + 3_600_000),
    ended: false,
    generation: 0,
    user,
    grantedRoles: [],
  }
  const decide = (moment: Moment): string => {
    const row = realmRow({ ...moment.row, tokens: { ...realmRow().tokens, ...moment.tokens } })
    const found =
      moment.session === null
        ? undefined
        : { ...session, user: moment.user === null ? null : { ...user, ...moment.user }, ...moment.session }
    const client = moment.client === null ? undefined : clientRow(moment.client)
    const decision = goodToken({ ...claims, ...moment.claims }, { row }, found, client, now)
    return typeof decision === 'string' ? decision : 'good'
  }

  test.for<[string, Moment]>([
    ['all as it was issued', {}],
    ['one second before it expires', { claims: { exp: seconds + 1 } }],
    ['issued by a clock that is 60 s ahead', { claims: { iat: seconds + 60 } }],
    ['issued at notBefore', { tokens: { notBefore: now.toISOString() } }],
  ])('%s: good', ([, moment]) => {
    expect(decide(moment)).toBe('good')
  })

  test.for<[string, Moment, string]>([
    ['expired this second', { claims: { exp: seconds } }, 'token expired'],
    ['issued 61 s from now', { claims: { iat: seconds + 61 } }, 'token from the future'],
    ['issued before notBefore', { tokens: { notBefore: '2030-01-01T00:00:01Z' } }, 'token issued before notBefore'],
    [
      'issued in the second of notBefore, but before it',
      { tokens: { notBefore: '2030-01-01T00:00:00.001Z' } },
      'token issued before notBefore',
    ],
    ['a notBefore that is no date', { tokens: { notBefore: 'soon' } }, 'token issued before notBefore'],
    ['session gone', { session: null }, 'session not found'],
    ['session ended', { session: { ended: true } }, 'session ended'],
    ['session over', { session: { expiresAt: now } }, 'session expired'],
    ['session of another client', { session: { clientId: 'other' } }, 'token does not match its session'],
    ['session of another realm', { session: { realm: 'other' } }, 'token does not match its session'],
    [
      'another session',
      { session: { sid: '11111111-2222-3333-4444-666666666666' } },
      'token does not match its session',
    ],
    ['user gone', { user: null }, 'user not found'],
    ['user disabled', { user: { enabled: false } }, 'user disabled'],
    ['another user', { user: { subject: 'bob-sub' } }, 'token does not match its session'],
    ['client gone', { client: null }, 'client not found'],
    ['client disabled', { client: { enabled: false } }, 'client disabled'],
    ['another client', { client: { clientId: 'other' } }, 'token does not match its session'],
    ['realm disabled', { row: { enabled: false } }, 'realm disabled'],
  ])('%s: not good', ([, moment, cause]) => {
    expect(decide(moment)).toBe(cause)
  })
})

describe('what this realm signed as an access token', () => {
  let keyring: LoadedKeyring
  let other: LoadedKeyring
  let verifiedTokens: VerifiedTokens
  const header = () => ({ alg: keyring.signer!.alg, kid: keyring.signer!.kid, typ: 'at+jwt' })
  const sign = (head: object, body: object = payload, by = keyring) =>
    rawJws({ ...header(), ...head }, { ...body }, by.signer!)
  const claimsOrCause = (token: string, realm = served(keyring)) => readSignedClaims(token, realm, { verifiedTokens })
  const read = async (token: string, realm = served(keyring)) => {
    const found = await claimsOrCause(token, realm)
    return typeof found === 'string' ? undefined : found
  }
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

  test('the cause of a refusal is named for the log', async () => {
    const token = await sign({})
    const [head, body] = token.split('.')
    expect(await claimsOrCause('x')).toBe('token malformed')
    expect(await claimsOrCause(`${head}.${body}.${'A'.repeat(86)}`)).toBe('token with a bad signature')
    expect(await claimsOrCause(await sign({ kid: 'unknown' }))).toBe('token signed with an unknown key')
    expect(await claimsOrCause(token, served(other))).toBe('token signed with an unknown key')
    expect(await claimsOrCause(await sign({}, { ...payload, iss: 'http://localhost:8080/auth/realms/other' }))).toBe(
      'token of another realm',
    )
  })

  beforeAll(async () => {
    keyring = await loadKeyring(await realmKeyring({ algorithms: ['ES256', 'RS256'] }))
    other = await loadKeyring(await realmKeyring())
    verifiedTokens = createVerifiedTokens(() => now)
  })

  test.for(['at+jwt', 'JWT'])('the header may say %s', async (typ) => {
    expect(await read(await sign({ typ }))).toEqual(claims)
  })

  test('the second time it is the same', async () => {
    const token = await sign({})
    expect(await read(token)).toEqual(await read(token))
  })

  test('row 40: another algorithm than the key has is refused', async () => {
    const rsaKid = [...keyring.verifiers].find(([, { alg }]) => alg === 'RS256')![0]
    const [head, body, signature] = (await sign({})).split('.')
    for (const alg of ['none', 'None', 'NONE', '', 'HS256', 'HS512', 'RS256', 'ES384', 'ES256 ', 'constructor']) {
      const swapped = `${encode({ ...header(), alg })}.${body}`
      expect(await read(`${swapped}.${signature}`), alg).toBeUndefined()
      expect(await read(`${swapped}.`), alg).toBeUndefined()
    }
    expect(head).not.toBe('')
    // The key's own signature, under the name of the other key.
    expect(await read(await sign({ kid: rsaKid }))).toBeUndefined()
    expect(await read(await sign({ kid: rsaKid, alg: 'ES256' }))).toBeUndefined()
  })

  test('row 40: the public key is no HMAC secret', async () => {
    for (const [kid, { key }] of keyring.verifiers) {
      for (const secret of [await exportSPKI(key), Buffer.from(await crypto.subtle.exportKey('spki', key))]) {
        const input = `${encode({ alg: 'HS256', kid, typ: 'at+jwt' })}.${encode(payload)}`
        const signature = createHmac('sha256', secret).update(input).digest('base64url')
        expect(await read(`${input}.${signature}`)).toBeUndefined()
      }
    }
  })

  test('row 40: crit and b64 are refused, even well signed', async () => {
    expect(await read(await sign({ crit: ['exp'] }))).toBeUndefined()
    expect(await read(await sign({ b64: false, crit: ['b64'] }))).toBeUndefined()
    expect(await read(await sign({ b64: true }))).toBeUndefined()
  })

  test('row 41: a kid that names no key of the ring is refused', async () => {
    const kids = [
      undefined,
      'unknown',
      '',
      '../../x',
      "' or 1=1--",
      'k'.repeat(10_000),
      7,
      null,
      '__proto__',
      'constructor',
      ['a'],
    ]
    for (const kid of kids) {
      const input = `${encode({ ...header(), kid })}.${encode(payload)}`
      expect(await read(`${input}.${(await sign({})).split('.')[2]}`), String(kid).slice(0, 20)).toBeUndefined()
    }
  })

  test('row 42: keys in the header are ignored', async () => {
    const jwk = other.publicJwks[0]
    const forged = await rawJws(
      {
        alg: 'ES256',
        kid: other.signer!.kid,
        typ: 'at+jwt',
        jwk,
        jku: 'http://127.0.0.1:9/keys',
        x5u: 'http://127.0.0.1:9/x',
      },
      { ...payload },
      other.signer!,
    )
    expect(await read(forged)).toBeUndefined()
    // Under the kid of a key that the ring does hold.
    expect(await read(await sign({ jwk }, payload, other))).toBeUndefined()
    // They are ignored in a valid token as well.
    expect(await read(await sign({ jku: 'http://127.0.0.1:9/keys' }))).toEqual(claims)
  })

  test('row 43: only the exact text passes', async () => {
    const token = await sign({})
    expect(await read(token)).toEqual(claims)
    const [head, body, signature] = token.split('.')
    const changed = [
      `${head}.${body}`,
      `${head}.${body}.`,
      `${head}.${body}.${signature}.`,
      `${head}.${body}.${signature}.x`,
      `${head}.${body}..${signature}`,
      `.${token}`,
      `${head}..${signature}`,
      `${token}=`,
      `${head}=.${body}.${signature}`,
      ` ${token}`,
      `${token}\n`,
      `${head} .${body}.${signature}`,
      `${token}\u0000`,
      token.replaceAll('.', '\uff0e'),
      // A letter that ends in the same eight bits: the cache of verified tokens must tell it apart.
      ...Array.from(token).flatMap((letter, at) =>
        at % 40 === 0
          ? [`${token.slice(0, at)}${String.fromCharCode(letter.charCodeAt(0) + 0x100)}${token.slice(at + 1)}`]
          : [],
      ),
      token.slice(0, -1),
    ]
    for (const text of changed) expect(await read(text), JSON.stringify(text)).toBeUndefined()
  })

  test('a changed character anywhere is refused', async () => {
    const token = await sign({})
    for (let at = 0; at < token.length; at += 7) {
      const letter = token[at] === 'A' ? 'B' : 'A'
      expect(await read(token.slice(0, at) + letter + token.slice(at + 1)), `at ${at}`).toBeUndefined()
    }
  })

  test('a token over 16 KiB is refused, although its signature is valid', async () => {
    expect(await read(await sign({}, { ...payload, more: 'x'.repeat(10_000) }))).toEqual(claims)
    expect(await read(await sign({}, { ...payload, more: 'x'.repeat(13_000) }))).toBeUndefined()
  })

  test('row 44: claims that are nested deep are refused', async () => {
    const deep: unknown = JSON.parse('{"a":'.repeat(200) + '1' + '}'.repeat(200))
    expect(await read(await sign({}, { ...payload, deep }))).toBeUndefined()
  })

  test('row 45: header and claim both say what kind of token it is', async () => {
    expect(await read(await sign({ typ: 'rk-license+jwt' }))).toBeUndefined()
    expect(await read(await sign({ typ: undefined }))).toBeUndefined()
    expect(await read(await sign({ typ: 'JWT' }, { ...payload, typ: 'ID' }))).toBeUndefined()
    expect(await read(await sign({ typ: 'JWT' }, { ...payload, typ: 'Refresh' }))).toBeUndefined()
  })

  test('a token of another issuer is refused, also when this realm holds the key', async () => {
    expect(await read(await sign({}, { ...payload, iss: 'http://localhost:8080/auth/realms/other' }))).toBeUndefined()
  })

  test('a token that one realm has verified is not verified for another', async () => {
    const token = await sign({})
    expect(await read(token)).toEqual(claims)
    expect(await read(token, served(other))).toBeUndefined()
    expect(await read(token, { ...served(keyring), issuer: 'http://localhost:8080/auth/realms/other' })).toBeUndefined()
  })

  test('row 35: a key that left the keyring verifies nothing, cached tokens included', async () => {
    const token = await sign({})
    expect(await read(token)).toEqual(claims)
    const withoutKey = {
      ...keyring,
      verifiers: new Map([...keyring.verifiers].filter(([kid]) => kid !== header().kid)),
    }
    expect(await read(token, served(withoutKey))).toBeUndefined()
    const withOtherKey = {
      ...keyring,
      verifiers: new Map([[header().kid, { alg: 'ES256' as const, key: [...other.verifiers.values()][0]!.key }]]),
    }
    expect(await read(token, served(withOtherKey))).toBeUndefined()
  })
})

test('the cache of verified tokens is bounded, and drops expired ones', async () => {
  const keyring = await loadKeyring(await realmKeyring())
  const { key } = [...keyring.verifiers.values()][0]!
  let time = now
  const cache = createVerifiedTokens(() => time, 2)
  const token = (exp: number) => ({ kid: 'k', key, claims: { ...claims, exp } })
  cache.set('a', token(seconds + 10), 1_000)
  cache.set('b', token(seconds + 10), 1_000)
  cache.set('c', token(seconds + 1), 1_000)
  time = new Date((seconds + 2) * 1000)
  expect(['a', 'b', 'c'].map((digest) => cache.get(digest) !== undefined)).toEqual([false, true, false])
})

test('verified tokens of the largest size take no more memory than others', async () => {
  const [{ key } = expect.fail()] = (await loadKeyring(await realmKeyring())).verifiers.values()
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const heap = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  // Short texts of their own take the most memory for their length in the token.
  const roles = Array.from({ length: 850 }, (_, at) => String(at).padStart(11, '0'))
  const text = JSON.stringify({ ...payload, realm_access: { roles } })
  const length = Math.ceil((text.length * 4) / 3)
  expect([length > 15_000, length <= MAX_TOKEN_LENGTH]).toEqual([true, true])

  const cache = createVerifiedTokens(() => now)
  const before = heap()
  for (let at = 0; at < 5_000; at++) {
    const parsed = readAccessTokenClaims(JSON.parse(text.replace('"j1"', `"j${at}"`)))
    expect(parsed).toBeDefined()
    cache.set(String(at), { kid: 'k1', key, claims: parsed! }, length)
  }
  expect(cache.get('4999')?.claims.jti).toBe('j4999')
  expect(heap() - before).toBeLessThan(48 * 1024 * 1024)
})
