import { below, pick } from '../../support/random.ts'
import type { Random } from '../../support/random.ts'

/** Texts that decoders, databases and logs may take apart. */
export const ODD_TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\r\n',
  'a\r\nX-Injected: 1',
  '\u202egro.elpmaxe',
  '\ud800',
  '🎂'.repeat(50),
  'ａｌｉｃｅ',
  'ALICE',
  ' alice ',
  "' OR 1=1--",
  '%_\\',
  '${jndi:ldap://x}',
  '{{7*7}}',
  '<script>',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'true',
  '-1',
  '0x10',
  '1e999',
  '9'.repeat(400),
  '[]',
  '{}',
  'x'.repeat(255),
  'x'.repeat(256),
  'x'.repeat(1025),
  'x'.repeat(2049),
]

export function oddText(random: Random): string {
  return random() < 0.02 ? 'x'.repeat(40_000) : pick(ODD_TEXTS, random)
}

/** Changes, adds or removes a few bytes. */
export function damage(bytes: Buffer, random: Random): Buffer {
  let damaged = Buffer.from(bytes)
  for (let change = 0; change <= below(4, random); change++) {
    const at = below(damaged.length + 1, random)
    const inserted = Buffer.from(Array.from({ length: below(4, random) }, () => below(256, random)))
    damaged = Buffer.concat([damaged.subarray(0, at), inserted, damaged.subarray(at + below(4, random))])
  }
  return damaged
}

export function damageText(text: string, random: Random): string {
  return damage(Buffer.from(text), random).toString('latin1')
}

const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  -(2 ** 63),
  1e308,
  [],
  {},
  [[]],
  [null],
  { field: 'dateOfBirth' },
  '\ud800',
]

/** A JSON value of any type. */
export function oddValue(random: Random): unknown {
  return random() < 0.5 ? pick(ODD_VALUES, random) : oddText(random)
}

/** This JSON value with a random part replaced, renamed, repeated or removed. */
export function oddJson(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random() < 0.15) return oddValue(random)
  if (Array.isArray(value)) {
    if (random() < 0.1) return Array.from({ length: 257 + below(50, random) }, () => value[0])
    const at = below(value.length, random)
    return value.map((each, index) => (index === at ? oddJson(each, random) : each))
  }
  const entries = Object.entries(value)
  if (entries.length === 0 || random() < 0.1) return { ...value, [oddText(random)]: oddValue(random) }
  const at = below(entries.length, random)
  const changed = entries.flatMap(([name, each], index): [string, unknown][] => {
    if (index !== at) return [[name, each]]
    const chance = random()
    if (chance < 0.15) return []
    return [[chance < 0.25 ? oddText(random) : name, oddJson(each, random)]]
  })
  return Object.fromEntries(changed)
}

/** The text of a JSON value in a form that parsers treat differently. */
export function oddJsonText(text: string, random: Random): Buffer {
  const forms: (() => string | Buffer)[] = [
    () => '',
    () => ' '.repeat(1_000) + text,
    () => `${text}${text}`,
    () => `${text},`,
    () => `\ufeff${text}`,
    () => `${text}\0`,
    () => text.slice(0, below(text.length, random)),
    () => text.replace('{', '{"field":"iban",'),
    () => text.replace('{', '{"__proto__":{"field":"iban"},'),
    () => text.replace('{', '{/* x */'),
    () => text.replace('}', ',}'),
    () => text.replaceAll('"', "'"),
    () => text.replace(/"(\w)/, (_, letter: string) => `"\\u00${letter.charCodeAt(0).toString(16)}`),
    () => text.replace('{', '{"id":123456789012345678901234567890,'),
    () => text.replace('{', '{"id":1e999,"x":-0,"y":1E-999,"z":01,'),
    () => text.replace('{', '{"x":NaN,'),
    () => text.replace('{', '{"x":"\\ud800\\udc",'),
    () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
    () => '{"items":['.repeat(20_000),
    () => `{"field":"dateOfBirth","x":${'{"a":'.repeat(50)}1${'}'.repeat(50)}}`,
    () => `{${Array.from({ length: 20_000 }, (_, at) => `"m${at}":0`).join(',')}}`,
    () => text.replace('{', `{"x":"${'x'.repeat(1024 * 1024)}",`),
    () => Buffer.from(text, 'utf16le'),
    () => Buffer.concat([Buffer.from(text.slice(0, 12)), Buffer.from([0xff, 0xc0, 0xaf, 0xed, 0xa0, 0x80])]),
    () => damage(Buffer.from(text), random),
  ]
  return Buffer.from(pick(forms, random)())
}
