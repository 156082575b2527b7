import { appendFileSync, copyFileSync, globSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { LOGS_VARIABLE, SECRETS_PREFIX, SHORTEST_SECRET } from '../../scripts/test/find_leaks.ts'
import type { Keyring } from '../../keyring/keyring.ts'

// What processes log and what must not be in it is left in a folder of the test run, which is looked through when the
// run is over. Outside of a whole run (vitest called by itself) nothing is kept.
const logs = process.env[LOGS_VARIABLE]

/** A file for the log of one process; every run of a suite appends to its own. */
export function logFile(name: string): string {
  return logs === undefined ? devNull : `${logs}/${name.replaceAll(/[^\w-]/g, '_')}-${process.pid}.log`
}

/** Takes a line of a log that a test holds in memory. */
export function recordLogLine(name: string, line: string): void {
  appendFileSync(logFile(name), line.endsWith('\n') ? line : `${line}\n`)
}

/** Takes a log that another program wrote; nothing when there is none. */
export function recordLogFile(name: string, path: string): void {
  if (logs === undefined) return
  try {
    copyFileSync(path, `${logs}/${name}-${process.pid}-${Math.random().toString(36).slice(2)}.log`)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}

/** Says that these texts must not appear in any log of the test run: passwords, tokens, keys, values, ciphertexts. */
export function recordSecrets(...secrets: (string | undefined)[]): void {
  const lines = secrets.filter((secret) => secret !== undefined && secret.length >= SHORTEST_SECRET)
  if (logs === undefined || lines.length === 0) return
  appendFileSync(`${logs}/${SECRETS_PREFIX}${process.pid}`, `${lines.map((s) => JSON.stringify(s)).join('\n')}\n`)
}

/** The private part of every key. */
export function recordKeyring({ signing, refresh, encryption }: Keyring): void {
  const privateMembers = signing.flatMap(({ jwk }) => [jwk.d, jwk.p, jwk.q, jwk.dp, jwk.dq, jwk.qi])
  recordSecrets(
    ...privateMembers.filter((member) => typeof member === 'string'),
    ...[...refresh, ...encryption].map(({ key }) => key),
  )
}

const CONFIDENTIAL = ['access_token', 'refresh_token', 'id_token', 'ciphertext', 'value', 'valueBase64']

/** Says that what a JSON body of field encryption, or an answer, carries must not appear in any log. */
export function recordBody(body: unknown): void {
  if (logs === undefined || typeof body !== 'object' || body === null) return
  const told = new Map<string, unknown>(Object.entries(body))
  for (const list of [told.get('results'), told.get('items')]) if (Array.isArray(list)) list.forEach(recordBody)
  recordSecrets(...CONFIDENTIAL.map((name) => told.get(name)).filter((secret) => typeof secret === 'string'))
}

/** For clients that bring their own HTTP: fetch, whose JSON answers are recorded. */
export async function recordingFetch(url: string, init: object): Promise<Response> {
  const response = await fetch(url, init)
  if (logs !== undefined) recordBody(parsed(await response.clone().text()))
  return response
}

// What a Secret may hold that is none.
const PUBLIC_ENTRIES = ['client_id', 'issuer', 'token_endpoint']

/** The Secrets that an operator left in a state directory; what a test has broken there is nobody's secret. */
export function recordStateSecrets(stateDir: string): void {
  if (logs === undefined) return
  for (const path of globSync('secrets/*/*.json', { cwd: stateDir })) {
    const { data }: { data: Record<string, string> } = parsed(readFileSync(`${stateDir}/${path}`, 'utf8')) ?? {
      data: {},
    }
    for (const [entry, base64] of Object.entries(data ?? {})) {
      const text = Buffer.from(base64, 'base64').toString()
      const keyring: Keyring | undefined = entry === 'keyring.json' ? parsed(text) : undefined
      if (keyring?.signing && keyring.refresh && keyring.encryption) recordKeyring(keyring)
      else if (!PUBLIC_ENTRIES.includes(entry)) recordSecrets(text)
    }
  }
}

function parsed(text: string) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
