import type { Deps } from '../../../server/deps.ts'
import { routes } from '../../../server/routes.ts'
import type { Route } from '../../../server/routes.ts'
import { HELD } from '../../support/field_world.ts'
import { below, pick } from '../../support/random.ts'
import type { Random } from '../../support/random.ts'
import { ALICE_PASSWORD, SHOP_SECRET } from '../../support/server.ts'
import type { Draft, Field } from './request.ts'
import { recordBody } from '../../support/canary.ts'

/** The table of the server itself; nothing of it is called. A token is needed most often. */
const TABLE = routes({} as Deps).flatMap((route) => (route.name === 'token' ? [route, route, route] : [route]))

/** The names of all routes with their methods. */
export const ROUTES = [...new Set(TABLE.map(routeName))]

export function routeName({ name, method }: Route): string {
  return `${method} ${name}`
}

export interface Tokens {
  access: string
  refresh: string
  id: string
}

interface Encrypted {
  field: string
  ciphertext: string
}

/** What answers have given. Requests are made of it. */
export interface Known {
  /** Of the realm acme, the latest last. */
  tokens: Tokens[]
  encrypted: Encrypted[]
  /** Of another realm. */
  foreign: Tokens
}

/** Fewer tokens are not used up. */
export const LEAST_KNOWN = 10
const MOST_KNOWN = 60
const USERS = ['alice', 'bob', 'erin', 'carol']
const VALUES = ['1990-04-01', '', 'x'.repeat(4096), 'ein Übermaß 🎂', '\u0000']

/** A request that the route accepts. */
export function draftFor(route: Route, known: Known, random: Random): Draft {
  const draft: Draft = {
    route,
    method: route.method,
    target: route.path.replace('{/auth}', pick(['', '/auth'], random)).replace(':realm', 'acme'),
    version: ' HTTP/1.1',
    headers: [['Host', 'localhost']],
    isValid: true,
  }
  if (route.caller === 'bearer') addToken(draft, pick(known.tokens, random).access, random)
  if (route.caller === 'client') draft.form = formOf(route.name, known, random)
  if (route.caller === 'client') addCredentials(draft, random)
  if (route.body === 'json') draft.json = jsonOf(route.name, known, random)
  if (draft.form) draft.headers.push(['Content-Type', 'application/x-www-form-urlencoded'])
  if (draft.json !== undefined) draft.headers.push(['Content-Type', 'application/json'])
  if (random() < 0.1) draft.framing = 'chunked'
  return draft
}

export function randomRoute(random: Random): Route {
  return pick(TABLE, random)
}

/** userinfo also takes the token in a form. */
function addToken(draft: Draft, token: string, random: Random): void {
  if (draft.route.body === 'optional_form' && random() < 0.5) draft.form = [['access_token', token]]
  else draft.headers.push(['Authorization', `${pick(['Bearer', 'bearer'], random)} ${token}`])
}

function formOf(name: string, { tokens }: Known, random: Random): Field[] {
  // The oldest: these requests end its session.
  const oldest = (): Tokens => (tokens.length > LEAST_KNOWN ? tokens.shift()! : tokens[0]!)
  switch (name) {
    case 'token':
      if (random() < 0.3) {
        return [['grant_type', 'refresh_token'], ['refresh_token', oldest().refresh], ...scopeField(random)]
      }
      return [
        ['grant_type', 'password'],
        ['username', pick(USERS, random)],
        ['password', ALICE_PASSWORD],
        ...scopeField(random),
      ]
    case 'logout':
      return [['refresh_token', oldest().refresh]]
    case 'revoke':
      return [
        ['token', oldest()[pick(['access', 'refresh'] as const, random)]],
        ['token_type_hint', 'access_token'],
      ]
    default:
      return [['token', pick(tokens, random)[pick(['access', 'access', 'refresh', 'id'] as const, random)]]]
  }
}

function scopeField(random: Random): Field[] {
  const scope = ['openid', ...HELD, 'profile', 'email'].filter(() => random() < 0.8).join(' ')
  return scope === '' ? [] : [['scope', scope]]
}

function addCredentials(draft: Draft, random: Random): void {
  if (random() < 0.3) {
    draft.headers.push(['Authorization', `Basic ${Buffer.from(`shop:${SHOP_SECRET}`).toString('base64')}`])
  } else draft.form?.push(['client_id', 'shop'], ['client_secret', SHOP_SECRET])
}

function jsonOf(name: string, known: Known, random: Random): unknown {
  const item = (): object => {
    if (name !== 'encrypt') return pick(known.encrypted, random)
    const [field, value] = [pick(['dateOfBirth', 'diary'], random), pick(VALUES, random)]
    return random() < 0.7 ? { field, value } : { field, valueBase64: Buffer.from(value).toString('base64') }
  }
  if (random() < 0.6) return item()
  return { items: Array.from({ length: 1 + below(random() < 0.1 ? 256 : 5, random) }, (_, id) => ({ id, ...item() })) }
}

/** Keeps tokens and ciphertexts of an answer for later requests. */
export function learn(known: Known, draft: Draft, answer: string): void {
  // The routes that are read here answer with texts.
  const body: Record<string, string> = JSON.parse(answer)
  recordBody(body)
  const { access_token: access, refresh_token: refresh = '', id_token: id = '', scope = '' } = body
  if (access !== undefined) {
    // Tokens without roles would be used for fields in vain.
    if (!scope.includes('_svc_dob')) return
    known.tokens.push({ access, refresh, id })
    if (known.tokens.length > MOST_KNOWN) known.tokens.shift()
  }
  const { field = '', ciphertext } = body
  if (ciphertext !== undefined && draft.route.name === 'encrypt') {
    known.encrypted.push({ field, ciphertext })
    if (known.encrypted.length > MOST_KNOWN) known.encrypted.shift()
  }
}
