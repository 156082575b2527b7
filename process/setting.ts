import { isIP } from 'node:net'

/** One value of a process's configuration: how it is given, what it may be, and what it says of itself in `--help`. */
export interface Setting<Value> {
  /** Without the dashes: `listen-port` is given as `--listen-port`. */
  flag: string
  env: string
  /** What stands for the value in help; undefined for a switch, which takes none. */
  placeholder: string | undefined
  description: string
  /** As it would be written; undefined when there is no default. */
  fallback: string | undefined
  /** May be left out although it has no default; its value is then undefined. */
  optional: boolean
  /** Says in a few words what is wrong by throwing a SettingError. */
  parse(text: string): Value
}

/** A table of settings, by the name that the code uses. */
// oxlint-disable-next-line typescript/no-explicit-any -- a table holds settings of every type
export type Settings = Record<string, Setting<any>>

export type Values<Table extends Settings> = { [Name in keyof Table]: ReturnType<Table[Name]['parse']> }

/** A value that cannot be used. The message completes "--flag ": "must be …". It never repeats a secret. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
}

interface Description {
  flag: string
  description: string
  placeholder?: string
  fallback?: string
  /** Default: REALMKEEPER_ and the flag in upper case. */
  env?: string
}

function setting<Value>(
  about: Description,
  placeholder: string | undefined,
  parse: (text: string) => Value,
): Setting<Value> {
  return {
    flag: about.flag,
    env: about.env ?? `REALMKEEPER_${about.flag.toUpperCase().replaceAll('-', '_')}`,
    placeholder: about.placeholder ?? placeholder,
    description: about.description,
    fallback: about.fallback,
    optional: false,
    parse,
  }
}

/** Any text that is not empty. */
export function text(about: Description): Setting<string> {
  return setting(about, 'text', (given) => {
    if (given.trim() === '') throw new SettingError('must not be empty')
    return given
  })
}

/** A text that may be left out. */
export function optionalText(about: Description): Setting<string | undefined> {
  return { ...setting(about, 'text', (given) => given || undefined), optional: true }
}

/** The same setting, which may be left out. */
export function optional<Value>(required: Setting<Value>): Setting<Value | undefined> {
  return { ...required, optional: true }
}

/** One of a few words. */
export function oneOf<const Word extends string>(about: Description, words: readonly Word[]): Setting<Word> {
  return setting(about, words.join('|'), (given) => {
    const word = words.find((one) => one === given)
    if (word === undefined) throw new SettingError(`must be one of ${words.join(', ')}, not ${shown(given)}`)
    return word
  })
}

/** Names that Kubernetes would give a namespace (RFC 1123 labels), comma-separated; may be left out. */
export function namespaces(about: Description): Setting<string[]> {
  return setting({ placeholder: 'name,…', fallback: '', ...about }, undefined, (given) => {
    const names = commaSeparated(given)
    const wrong = names.find((name) => !/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name))
    if (wrong !== undefined) throw new SettingError(`must be names of namespaces, which ${shown(wrong)} is not`)
    return [...new Set(names)]
  })
}

/** A whole number within bounds, both included. */
export function integer(about: Description, [least, most]: [number, number]): Setting<number> {
  return setting(about, 'number', (given) => {
    const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
    if (value >= least && value <= most) return value
    throw new SettingError(`must be a whole number from ${least} to ${most}, not ${shown(given)}`)
  })
}

/** A TCP port; 0 lets the system choose. */
export function port(about: Description): Setting<number> {
  return integer({ placeholder: 'port', ...about }, [0, 65_535])
}

/** A switch: given or not, or `true` and `false` in the environment. */
export function flag(about: Description): Setting<boolean> {
  return setting({ fallback: 'false', ...about }, undefined, (given) => {
    if (given === 'true' || given === 'false') return given === 'true'
    throw new SettingError(`must be true or false, not ${shown(given)}`)
  })
}

/** A `postgres://` URL. It carries a password, so messages do not repeat it. */
export function postgresUrl(about: Description): Setting<string> {
  return setting(about, 'url', (given) => {
    const url = URL.parse(given)
    if (url?.protocol === 'postgres:' || url?.protocol === 'postgresql:') return given
    throw new SettingError('must be a URL such as postgres://user:password@host:5432/database')
  })
}

/** An http(s) URL with a host and without query, fragment or account; the closing slash is dropped. */
export function baseUrl(about: Description): Setting<string> {
  return setting(about, 'url', (given) => {
    const url = URL.parse(given)
    if (!url || !/^https?:$/.test(url.protocol)) throw new SettingError(`must be an http(s) URL, not ${shown(given)}`)
    if (/[?#]/.test(given) || url.username || url.password) {
      throw new SettingError('must not have a query, a fragment or an account')
    }
    return url.href.replace(/\/+$/, '')
  })
}

/** Addresses and networks (CIDR), comma-separated. */
export function networks(about: Description): Setting<string[]> {
  return setting({ placeholder: 'cidr,…', fallback: '', ...about }, undefined, (given) => {
    const parts = commaSeparated(given)
    const wrong = parts.find((part) => !isNetwork(part))
    if (wrong !== undefined) {
      throw new SettingError(`must be addresses or networks such as 10.0.0.0/8, which ${shown(wrong)} is not`)
    }
    return parts
  })
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

function shown(given: string): string {
  return JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given)
}
