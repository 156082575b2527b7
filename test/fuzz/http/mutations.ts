import { below, pick } from '../../support/random.ts'
import type { Random } from '../../support/random.ts'
import type { Known } from './drafts.ts'
import { oddCiphertext, oddToken } from './odd_tokens.ts'
import { damage, oddJson, oddJsonText, oddText } from './odd_values.ts'
import { oddHead } from './odd_heads.ts'
import { headerOf, setHeader, writeContent } from './request.ts'
import type { Draft } from './request.ts'

type Mutation = (draft: Draft, known: Known, random: Random) => void

/** Changes a request in up to three ways. What remains of it is correct, so that it reaches as far as it can. */
export function mutate(draft: Draft, known: Known, random: Random): void {
  for (let change = 0; change <= below(3, random); change++) pick(mutationsFor(draft), random)(draft, known, random)
}

function mutationsFor(draft: Draft): Mutation[] {
  return [
    oddHead,
    ...(headerOf(draft, 'Authorization') === undefined ? [] : [mutateAuthorization]),
    ...(draft.form && !draft.body ? [mutateField, mutateField, mutateForm] : []),
    ...(draft.json !== undefined && !draft.body ? [mutateJson, mutateJson, mutateCiphertext, mutateJsonText] : []),
    ...(draft.form || draft.json !== undefined ? [mutateBytes] : []),
  ]
}

const TOKEN_FIELDS = new Set(['token', 'access_token', 'refresh_token'])
const FIELD_NAMES = ['username', 'password', 'scope', 'grant_type', 'client_id', 'client_secret', 'access_token']

function mutateField({ form = [] }: Draft, known: Known, random: Random): void {
  const field = form.length > 0 ? pick(form, random) : undefined
  if (!field) return
  const [name, value] = field
  if (TOKEN_FIELDS.has(name)) field[1] = oddToken(value, known, random)
  else if (name === 'grant_type' && random() < 0.5) {
    field[1] = pick(['refresh_token', 'client_credentials', 'authorization_code', 'PASSWORD'], random)
  } else if (name === 'scope') field[1] = pick([oddText(random), `${value} ${value}`, 'a '.repeat(60)], random)
  else if (name === 'client_id') field[1] = pick(['app', 'disabled', 'shop ', 'SHOP', oddText(random)], random)
  else field[1] = random() < 0.2 ? `${value}${oddText(random)}` : oddText(random)
}

function mutateForm(draft: Draft, _: Known, random: Random): void {
  const { form = [] } = draft
  const at = below(form.length + 1, random)
  const [name = 'username', value = 'alice'] = form[at] ?? []
  const changes: (() => unknown)[] = [
    () => form.splice(at, 1),
    () => form.push([name, value]),
    () => form.push([pick(FIELD_NAMES, random), oddText(random)]),
    () => form.push([`${name}[]`, value]),
    () => form.push([`${name}[x]`, value]),
    () => form.push(['__proto__[admin]', '1'], ['constructor.prototype.admin', '1'], ['__proto__', 'x']),
    () => form.push([oddText(random), oddText(random)]),
    () => form.push(...Array.from({ length: 200 }, (_, index): [string, string] => [`f${index}`, 'x'])),
    () => form.push(['x', 'x'.repeat(70_000)]),
    () => form.push(['x', '🎂'.repeat(2_000)]),
  ]
  pick(changes, random)()
}

function mutateJson(draft: Draft, _: Known, random: Random): void {
  draft.json = oddJson(draft.json, random) ?? null
}

function mutateCiphertext(draft: Draft, _: Known, random: Random): void {
  const item: unknown = draft.json
  if (typeof item !== 'object' || item === null || !('ciphertext' in item)) return
  draft.json = { ...item, ciphertext: oddCiphertext(String(item.ciphertext), random) }
}

function mutateJsonText(draft: Draft, _: Known, random: Random): void {
  draft.body = oddJsonText(JSON.stringify(draft.json), random)
}

const FORM_BYTES = ['%', '%zz', '%ff', '%ed%a0%80', '%00', '&', '=', '&&&&', ';a=b', '+', '\xff\xfe', '%C0%AF', '\r\n']

function mutateBytes(draft: Draft, _: Known, random: Random): void {
  writeContent(draft)
  const bytes = draft.body ?? Buffer.alloc(0)
  const at = below(bytes.length, random)
  const inserted = Buffer.from(draft.form ? pick(FORM_BYTES, random) : '\xff', 'latin1')
  draft.body =
    random() < 0.5 ? damage(bytes, random) : Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)])
}

const AUTHORIZATIONS = [
  '',
  'Bearer',
  'Bearer ',
  'Basic',
  'Basic !',
  'Digest x',
  'Negotiate YII=',
  'Bearer a b',
  'bearer,',
]
const BASIC_TEXTS = [
  'shop',
  ':',
  'shop:',
  ':secret',
  'shop:a:b',
  'sh\0p:x',
  'sh%6fp:x',
  '%:%',
  'app:',
  'shöp:x',
  '\n:x',
]

function mutateAuthorization(draft: Draft, known: Known, random: Random): void {
  const present = headerOf(draft, 'Authorization') ?? ''
  const forms: (() => string)[] = [
    () => pick(AUTHORIZATIONS, random),
    () => `Basic ${Buffer.from(pick(BASIC_TEXTS, random)).toString('base64')}`,
    () => `Basic ${Buffer.from(pick(BASIC_TEXTS, random), 'latin1').toString('base64url')}`,
    () => `Basic ${'A'.repeat(below(14_000, random))}`,
    () => present.replace(' ', '   '),
    () => present.toUpperCase(),
    () => `Bearer ${inHeader(oddToken(present.replace(/^\S+ */, ''), known, random))}`,
    () => `Bearer ${inHeader(oddToken(present.replace(/^\S+ */, ''), known, random))}`,
    () => `Bearer ${inHeader(oddToken(present.replace(/^\S+ */, ''), known, random))}`,
  ]
  setHeader(draft, 'Authorization', random() < 0.1 ? undefined : pick(forms, random)())
}

/** Only what a header may hold, and no more than the server takes of a head: oddHead breaks these rules. */
function inHeader(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?').slice(0, 12_000)
}
