import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, mkdtempSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'

/** Where all processes of a test run leave their logs, and the secrets that must not be in them. */
export const LOGS_VARIABLE = 'REALMKEEPER_TEST_LOGS'

const directory = (): string => {
  process.env[LOGS_VARIABLE] ??= mkdtempSync(`${tmpdir()}/realmkeeper-test-logs-`)
  mkdirSync(process.env[LOGS_VARIABLE], { recursive: true })
  return process.env[LOGS_VARIABLE]
}

/** A file for the log of one process; every run of a suite appends to its own. */
export function logFile(name: string): string {
  return `${directory()}/${name.replaceAll(/[^\w-]/g, '_')}-${process.pid}.log`
}

/** Says that these texts must not appear in any log of the test run: passwords, tokens, keys, values, ciphertexts. */
export function recordSecrets(...secrets: (string | undefined)[]): void {
  // Short texts would be found by chance.
  const lines = secrets.filter((secret) => secret !== undefined && secret.length >= 8)
  if (lines.length > 0)
    appendFileSync(`${directory()}/secrets-${process.pid}`, `${lines.map((s) => JSON.stringify(s)).join('\n')}\n`)
}

/** Takes a line of a log that a test holds in memory; for nothing outside a test run. */
export function recordLogLine(name: string, line: string): void {
  if (process.env[LOGS_VARIABLE] !== undefined) appendFileSync(logFile(name), line.endsWith('\n') ? line : `${line}\n`)
}

/** Says that what an answer hands out must not appear in any log: tokens, ciphertexts, values. */
export function recordAnswer(body: unknown): void {
  if (process.env[LOGS_VARIABLE] === undefined || typeof body !== 'object' || body === null) return
  if ('results' in body && Array.isArray(body.results)) body.results.forEach(recordAnswer)
  const told = new Map<string, unknown>(Object.entries(body))
  const secrets = ['access_token', 'refresh_token', 'id_token', 'ciphertext', 'value'].map((name) => told.get(name))
  recordSecrets(...secrets.filter((secret) => typeof secret === 'string'))
}

export interface CanaryFindings {
  logLines: number
  secrets: number
  /** File and line of each log line that holds a secret; the secret itself is told by its digest. */
  leaks: string[]
}

/** Looks for every recorded secret in every log. A token counts by its signature: its head is no secret. */
export async function findLeaks(logs: string): Promise<CanaryFindings> {
  const names = await readdir(logs).catch(() => [])
  const secrets = new Set<string>()
  for (const name of names.filter((each) => each.startsWith('secrets-'))) {
    for (const line of (await readFile(`${logs}/${name}`, 'utf8')).split('\n')) {
      if (line) secrets.add(tellingPart(JSON.parse(line) as string))
    }
  }
  const findings: CanaryFindings = { logLines: 0, secrets: secrets.size, leaks: [] }
  for (const name of names.filter((each) => each.endsWith('.log'))) {
    const lines = (await readFile(`${logs}/${name}`, 'utf8')).split('\n')
    findings.logLines += lines.length
    const text = lines.join('\n')
    for (const secret of secrets) {
      const at = text.indexOf(secret)
      if (at < 0) continue
      const line = text.slice(0, at).split('\n').length
      findings.leaks.push(`${name}:${line}: holds a secret (SHA-256 ${digest(secret)})`)
    }
  }
  return findings
}

function tellingPart(secret: string): string {
  const parts = secret.split('.')
  return parts.length === 3 ? (parts[2] ?? secret) : secret
}

function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 12)
}
