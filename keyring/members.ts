import { decodeBase64url, isJsonObject } from './strict_parsing.ts'

/**
 * A keyring cannot be used as it is. The message names the part and what to do; it quotes no content and carries no
 * cause, because both may hold key material.
 */
export class KeyringError extends Error {
  override readonly name = 'KeyringError'
}

/** An object whose member names are all known; their presence and types are still to be read. */
export type Members = Readonly<Record<string, unknown>>

/**
 * Returns an object that has every required member and only named ones. An unknown member is refused rather than
 * dropped, because the next write would lose it.
 */
export function readObject(value: unknown, where: string, required: string[], optional: string[] = []): Members {
  if (!isJsonObject(value)) throw new KeyringError(`${where} is not an object`)
  const missing = required.find((name) => !Object.hasOwn(value, name))
  if (missing) throw new KeyringError(`${where} has no member "${missing}"`)
  if (Object.keys(value).some((name) => !required.includes(name) && !optional.includes(name))) {
    throw new KeyringError(`${where} has a member that keyring format 1 does not know`)
  }
  return value
}

export function readList(value: unknown, where: string, maxItems: number): unknown[] {
  if (!Array.isArray(value)) throw new KeyringError(`${where} is not a list`)
  if (value.length > maxItems) throw new KeyringError(`${where} has more than ${maxItems} items`)
  return value
}

export function readText(value: unknown, where: string, maxLength: number): string {
  if (typeof value !== 'string' || value.length < 1 || value.length > maxLength || !value.isWellFormed()) {
    throw new KeyringError(`${where} is not a text of 1 to ${maxLength} characters`)
  }
  return value
}

export function readChoice<T extends string>(value: unknown, where: string, choices: readonly T[]): T {
  const chosen = choices.find((choice) => choice === value)
  if (chosen === undefined) throw new KeyringError(`${where} is not one of ${choices.join(', ')}`)
  return chosen
}

export function readInteger(value: unknown, where: string, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new KeyringError(`${where} is not a whole number from ${min} to ${max}`)
  }
  return value
}

const RFC_3339_UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/

/** Returns the text unchanged: a time in UTC (RFC 3339). */
export function readTime(value: unknown, where: string): string {
  if (typeof value !== 'string' || !RFC_3339_UTC.test(value) || Number.isNaN(Date.parse(value))) {
    throw new KeyringError(`${where} is not a time such as 2030-01-31T12:00:00Z`)
  }
  return value
}

/** The times among `names` that are present, to be spread into the result. */
export function readTimes<Name extends string>(from: Members, where: string, names: readonly Name[]) {
  const times: Partial<Record<Name, string>> = {}
  for (const name of names) {
    if (from[name] !== undefined) times[name] = readTime(from[name], `${where}.${name}`)
  }
  return times
}

/** Checks the base64url text of a 32-byte key and returns its bytes. All zeros are refused: a failed read gives them. */
export function readKeyBytes(value: unknown, where: string): Buffer {
  const bytes = typeof value === 'string' && value.length === 43 ? decodeBase64url(value) : undefined
  if (bytes?.length !== 32) throw new KeyringError(`${where} is not 32 bytes in base64url (43 characters)`)
  if (bytes.every((byte) => byte === 0)) throw new KeyringError(`${where} is all zeros`)
  return bytes
}

/** @throws KeyringError when two items share the text that `of` gives; undefined ones are left out */
export function refuseDuplicates<T>(items: readonly T[], what: string, of: (item: T) => string | number | undefined) {
  const seen = new Set<string | number>()
  for (const item of items) {
    const text = of(item)
    if (text === undefined) continue
    if (seen.has(text)) throw new KeyringError(`the keyring has two ${what}`)
    seen.add(text)
  }
}
