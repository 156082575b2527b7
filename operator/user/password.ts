import { utf8 } from '../view/referenced_secret.ts'

export type Password = { usable: true; password: string; newlineDropped: boolean } | { usable: false; message: string }

/** Longest password that a login takes, in characters. */
const LONGEST = 1_024

/**
 * The password in an entry of a Secret, in NFC, as logins compare it. One newline at its end is what editors and
 * `echo` leave there: it is dropped, and reported. The message says nothing of the value.
 */
export function passwordIn(bytes: Buffer): Password {
  const text = bytes.length > LONGEST * 8 ? undefined : utf8(bytes)
  if (text === undefined) {
    return bytes.length > LONGEST * 8 ? refused(TOO_LONG) : refused('is not UTF-8 text')
  }
  const line = text.replace(/\r?\n$/, '')
  const password = line.normalize('NFC')
  if (password === '') return refused('is empty')
  if (password.includes('\0')) return refused('holds the character U+0000')
  if (password.length > LONGEST) return refused(TOO_LONG)
  return { usable: true, password, newlineDropped: line !== text }
}

const TOO_LONG = `is longer than ${LONGEST} characters`

function refused(what: string): Password {
  return { usable: false, message: `the password ${what}` }
}
