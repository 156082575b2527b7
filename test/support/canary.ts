import { appendFileSync, copyFileSync, globSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { LOGS_VARIABLE, SECRETS_PREFIX, SHORTEST_SECRET } from '../../scripts/test/find_leaks.ts'
import type { Keyring } from '../../keyring/keyring.ts'

// Tests copy logs, and the secrets that must not be in them, into a folder of the test run; scripts/test.ts searches it
// at the end. Without that folder (vitest started directly) nothing is recorded.
const logs = process.env[LOGS_VARIABLE]

/** The file for the log of one process. */
export function logFile(name: string): string {
  return logs === undefined ? devNull : `${logs}/${name.replaceAll(/[^\w-]/g, '_')}-${process.pid}.log`
}

/** Records a line of a log that a test has in memory. */
export function recordLogLine(name: string, line: string): void {
  appendFileSync(logFile(name), line.endsWith('\n') ? line : `${line}\n`)
}

/** Records a log that another program wrote; does nothing when the file does not exist. */
export function recordLogFile(name: string, path: string): void {
  if (logs === undefined) return
  try {
    copyFileSync(path, `${logs}/${name}-${process.pid}-${Math.random().toString(36).slice(2)}.log`)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}

/** Records passwords, tokens, keys, values and ciphertexts, which no log of the test run may contain. */
export function recordSecrets(...secrets: (string | undefined)[]): void {
  const lines = secrets.filter((secret) => secret !== undefined && secret.length >= SHORTEST_SECRET)
  if (logs === undefined || lines.length === 0) return
  appendFileSync(`${logs}/${SECRETS_PREFIX}${process.pid}`, `${lines.map((s) => JSON.stringify(s)).join('\n')}\n`)
}

/** Records the private part of every key. */
export function recordKeyring({ signing, refresh, encryption }: Keyring): void {
  const privateMembers = signing.flatMap(({ jwk }) => [jwk.d, jwk.p, jwk.q, jwk.dp, jwk.dq, jwk.qi])
  recordSecrets(
    ...privateMembers.filter((member) => typeof member === 'string'),
    ...[...refresh, ...encryption].map(({ key }) => key),
  )
}

const CONFIDENTIAL = ['access_token', 'refresh_token', 'id_token', 'ciphertext', 'value', 'valueBase64']

/** Records the secret members of a JSON body: of a request of field encryption, or of an answer. */
export function recordBody(body: unknown): void {
  if (logs === undefined || typeof body !== 'object' || body === null) return
  const members = new Map<string, unknown>(Object.entries(body))
  for (const list of [members.get('results'), members.get('items')]) if (Array.isArray(list)) list.forEach(recordBody)
  recordSecrets(...CONFIDENTIAL.map((name) => members.get(name)).filter((secret) => typeof secret === 'string'))
}

/** fetch that records JSON answers, for OAuth client libraries. */
export async function recordingFetch(url: string, init: object): Promise<Response> {
  const response = await fetch(url, init)
  if (logs !== undefined) recordBody(parsed(await response.clone().text()))
  return response
}

// Entries of Secrets that are not secret.
const PUBLIC_ENTRIES = ['client_id', 'issuer', 'token_endpoint', 'public.json', 'signed']

/** Records the Secrets that an operator wrote into a state directory. Skips files that a test has broken. */
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
      else if (entry === 'private.json') recordSecrets(parsed(text)?.d)
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
