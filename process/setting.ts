import { isIP } from 'node:net'
import { InvalidArgumentError, Option } from 'commander'

/** One value of a configuration. */
export interface Setting<Value> {
  /** The flag, its variable, and what help shows of both. commander reads flag and variable. */
  option: Option
  /** Throws InvalidArgumentError. Its message completes "--flag ": "must be …", and never repeats a secret. */
  parse: (text: string) => Value
  required: boolean
  /** The value of a setting that is not given. */
  fallback?: Value
}

/** A table of settings, by the name that the code uses. */
// oxlint-disable-next-line typescript/no-explicit-any -- a table holds settings of every type
export type Settings = Record<string, Setting<any>>

export type Values<Table extends Settings> = { [Name in keyof Table]: ReturnType<Table[Name]['parse']> }

/** A setting that must be given. `flags` is written as commander expects it: `--listen-port <port>`. */
export function required<Value>(flags: string, description: string, parse: (text: string) => Value): Setting<Value> {
  const option = new Option(flags, description)
  option.env(`REALMKEEPER_${option.name().toUpperCase().replaceAll('-', '_')}`)
  return { option, parse, required: true }
}

/** The same setting, `undefined` when it is not given. */
export function optional<Value>(setting: Setting<Value>): Setting<Value | undefined> {
  return { ...setting, required: false }
}

/** A text, `undefined` when it is not given or empty. */
export function optionalText(flags: string, description: string): Setting<string | undefined> {
  return optional(required(flags, description, (given) => given || undefined))
}

/** A setting with a default. */
export function withDefault<Value>(
  flags: string,
  description: string,
  parse: (text: string) => Value,
  fallback: NoInfer<Value>,
): Setting<Value> {
  const setting = required(flags, description, parse)
  const shown = String(fallback)
  if (shown) setting.option.default(fallback, shown)
  return { ...setting, required: false, fallback }
}

/** A whole number with a default. */
export function number(flags: string, about: string, [least, most]: [number, number], fallback: number) {
  return withDefault(flags, about, wholeNumber(least, most), fallback)
}

/** A TCP port; 0 lets the system choose. */
export function port(flag: string, description: string, fallback: number): Setting<number> {
  return withDefault(`${flag} <port>`, description, wholeNumber(0, 65_535), fallback)
}

/** A switch that is off by default: `--flag`, `--flag true` or `--flag false`. */
export function toggle(flag: string, description: string): Setting<boolean> {
  return withDefault(`${flag} [bool]`, description, trueOrFalse, false)
}

/** Any text that is not blank. */
export function text(given: string): string {
  if (given.trim() === '') throw new InvalidArgumentError('must not be empty')
  return given
}

export function oneOf<const Word extends string>(...words: Word[]): (given: string) => Word {
  return (given) => {
    const word = words.find((one) => one === given)
    if (word === undefined) throw new InvalidArgumentError(`must be one of ${words.join(', ')}, not ${quoted(given)}`)
    return word
  }
}

function wholeNumber(least: number, most: number): (given: string) => number {
  return (given) => {
    const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
    if (value >= least && value <= most) return value
    throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}, not ${quoted(given)}`)
  }
}

function trueOrFalse(given: string): boolean {
  if (given === 'true' || given === 'false') return given === 'true'
  throw new InvalidArgumentError(`must be true or false, not ${quoted(given)}`)
}

/** A `postgres://` URL. It holds a password, so the message does not repeat it. */
export function postgresUrl(given: string): string {
  const protocol = URL.parse(given)?.protocol
  if (protocol === 'postgres:' || protocol === 'postgresql:') return given
  throw new InvalidArgumentError('must be a URL such as postgres://user:password@host:5432/database')
}

/** An http(s) URL without query, fragment or account; the closing slash is dropped. */
export function baseUrl(given: string): string {
  const url = URL.parse(given)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError(`must be an http(s) URL, not ${quoted(given)}`)
  }
  if (/[?#]/.test(given) || url.username || url.password) {
    throw new InvalidArgumentError('must not have a query, a fragment or an account')
  }
  return url.href.replace(/\/+$/, '')
}

/** Namespace names (RFC 1123 labels), comma-separated, each once. */
export function namespaces(given: string): string[] {
  const names = commaSeparated(given)
  const wrong = names.find((name) => !/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name))
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`must be names of namespaces, which ${quoted(wrong)} is not`)
  }
  return [...new Set(names)]
}

/** Addresses and networks (CIDR), comma-separated. */
export function networks(given: string): string[] {
  const parts = commaSeparated(given)
  const wrong = parts.find((part) => !isNetwork(part))
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`must be addresses or networks such as 10.0.0.0/8, which ${quoted(wrong)} is not`)
  }
  return parts
}

function commaSeparated(given: string): string[] {
  return given
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
}

function isNetwork(given: string): boolean {
  const [address = '', prefix, ...rest] = given.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}

function quoted(given: string): string {
  return JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given)
}
