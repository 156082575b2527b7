import { fieldCall, FIELD_SCOPE, logIn, loginCall, once } from '../calls.ts'
import type { Call } from '../load.ts'
import { median } from '../report.ts'
import type { Figure } from '../report.ts'
import { FIELD, REALMS, USERS } from '../world.ts'
import type { BenchWorld } from '../world.ts'

// Attempts are spread over users, so that they lock only one user.
const FIRST_DISABLED = 100
const DISABLED = 80

/**
 * Refusals whose times must not differ: the median time of each kind, measured in turns without other load.
 */
export async function equalTimeRows(world: BenchWorld): Promise<Figure[]> {
  return [await logins(world), await clients(world), await decryptions(world)]
}

/** An unknown user, a wrong password, a locked user, a disabled user with a wrong password. */
async function logins(world: BenchWorld): Promise<Figure> {
  const realm = REALMS.ES256
  await world.pool.query(`update users set enabled = false where realm = $1 and username = any ($2)`, [
    realm,
    Array.from({ length: DISABLED }, (_, n) => `user-${FIRST_DISABLED + n}`),
  ])
  const locked = USERS - 1
  for (let attempt = 0; attempt < 10; attempt++) {
    await once(world.serverPort, loginCall(realm, locked, { password: 'wrong password' }))
  }
  const wrong = { password: 'wrong password' }
  const figure = await compare(world, 'refused logins', 401, 200, {
    'unknown user': (n) => loginCall(realm, n, { ...wrong, username: `unknown-${n}` }),
    'wrong password': (n) => loginCall(realm, n % FIRST_DISABLED, wrong),
    'locked user': () => loginCall(realm, locked, wrong),
    'disabled user': (n) => loginCall(realm, FIRST_DISABLED + (n % DISABLED), wrong),
  })
  await world.pool.query('update users set enabled = true where realm = $1', [realm])
  await world.pool.query('delete from login_failures')
  return figure
}

async function clients(world: BenchWorld): Promise<Figure> {
  const realm = REALMS.ES256
  return compare(world, 'refused clients', 401, 500, {
    'wrong secret': () => loginCall(realm, 0, { client_secret: 'wrong-secret-0123456789' }),
    'unknown client': () => loginCall(realm, 0, { client_id: 'unknown' }),
  })
}

/** A changed ciphertext and one of another realm fail in the same time. */
async function decryptions(world: BenchWorld): Promise<Figure> {
  const realm = REALMS.ES256
  const [{ access_token = '' } = {}] = await logIn(world.serverPort, realm, 1, FIELD_SCOPE)
  const [{ access_token: foreign = '' } = {}] = await logIn(world.serverPort, REALMS.RS256, 1, FIELD_SCOPE)
  const plain = { field: FIELD.name, value: '1990-01-31' }
  const { ciphertext = '' } = (await once(world.serverPort, fieldCall(realm, 'encrypt', access_token, plain))).body
  const elsewhere =
    (await once(world.serverPort, fieldCall(REALMS.RS256, 'encrypt', foreign, plain))).body.ciphertext ?? ''
  const body = ciphertext.slice('rk1:1:'.length)
  const flipped = (at: number): string => {
    const bytes = Buffer.from(body, 'base64url')
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return `rk1:1:${bytes.toString('base64url')}`
  }
  const decrypt = (text: string): Call => {
    // In a batch, decryption dominates the time of the answer.
    const items = Array.from({ length: 50 }, () => ({ field: FIELD.name, ciphertext: text }))
    return fieldCall(realm, 'decrypt', access_token, { items })
  }
  return compare(world, 'refused ciphertexts', 200, 200, {
    'salt changed': () => decrypt(flipped(1)),
    'commitment changed': () => decrypt(flipped(25)),
    'value changed': () => decrypt(flipped(46)),
    'tag changed': () => decrypt(flipped(Buffer.from(body, 'base64url').length - 1)),
    'of another realm': () => decrypt(elsewhere),
  })
}

async function compare(
  world: BenchWorld,
  row: string,
  wantedStatus: number,
  tries: number,
  kinds: Record<string, (n: number) => Call>,
): Promise<Figure> {
  const times = new Map<string, number[]>(Object.keys(kinds).map((name) => [name, []]))
  for (let n = 0; n < tries; n++) {
    for (const [name, call] of Object.entries(kinds)) {
      const started = performance.now()
      const { status } = await once(world.serverPort, call(n))
      times.get(name)?.push(performance.now() - started)
      if (status !== wantedStatus && status !== 429) throw new Error(`${row}, ${name}: answered ${status}`)
    }
  }
  const medians = [...times].map(([name, all]) => ({ name, milliseconds: median(all) }))
  const [least, most] = [
    Math.min(...medians.map((m) => m.milliseconds)),
    Math.max(...medians.map((m) => m.milliseconds)),
  ]
  for (const { name, milliseconds } of medians) console.log(`  ${row}, ${name}: ${milliseconds.toFixed(3)} ms`)
  return {
    row: `equal time: ${row}`,
    measured: `${most.toFixed(2)} ms`,
    floor: `${least.toFixed(2)} ms`,
    ratio: most / least,
    wanted: '≤ 105 %',
    holds: most / least <= 1.05,
  }
}
