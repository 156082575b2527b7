import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'

/** Names the folder in which all processes of a test run leave their logs, and the secrets that must not be in them. */
export const LOGS_VARIABLE = 'REALMKEEPER_TEST_LOGS'

/** Files of this name hold secrets, one JSON text a line; those that end in `.log` are looked through. */
export const SECRETS_PREFIX = 'secrets-'

/** Shorter texts would be found by chance. */
export const SHORTEST_SECRET = 8

export interface Findings {
  logLines: number
  secrets: number
  /** File and line of each log line that holds a secret; the secret itself is told by its digest. */
  leaks: string[]
}

/** Looks for every recorded secret in every log. A token counts by its signature: its head is no secret. */
export async function findLeaks(logs: string): Promise<Findings> {
  const names: string[] = await readdir(logs).catch(() => [])
  const secrets = new Set<string>()
  for (const name of names.filter((each) => each.startsWith(SECRETS_PREFIX))) {
    for (const line of (await readFile(`${logs}/${name}`, 'utf8')).split('\n')) {
      if (line) secrets.add(tellingPart(String(JSON.parse(line))))
    }
  }
  const byEnding = indexed(secrets)
  const findings: Findings = { logLines: 0, secrets: secrets.size, leaks: [] }
  for (const name of names.filter((each) => each.endsWith('.log'))) {
    const text = await readFile(`${logs}/${name}`, 'utf8')
    findings.logLines += text.split('\n').length - 1
    for (const { at, secret } of occurrences(text, byEnding)) {
      const line = text.slice(0, at).split('\n').length
      findings.leaks.push(`${name}:${line}: holds a secret (SHA-256 ${digest(secret)})`)
    }
  }
  return findings
}

/** The line that tells what was looked for and what was found. */
export function findingsLine({ logLines, secrets, leaks }: Findings): string {
  const found = leaks.length === 0 ? 'none found' : `${leaks.length} found`
  return `canary: ${logLines.toLocaleString('en')} log lines, ${secrets.toLocaleString('en')} secrets, ${found}`
}

function tellingPart(secret: string): string {
  const parts = secret.split('.')
  const [, , signature = ''] = parts
  return parts.length === 3 && signature.length >= SHORTEST_SECRET ? signature : secret
}

// A run knows tens of thousands of secrets: one pass over a log with a rolling hash of a few letters (Rabin and Karp),
// and a comparison only where the last letters of a secret may stand.
const FACTOR = 31
const OLDEST = Array.from({ length: SHORTEST_SECRET }).reduce<number>((power) => Math.imul(power, FACTOR), 1)

/** Secrets, as they are and as JSON writes them, by the hash of their last letters. */
function indexed(secrets: Set<string>): Map<number, { text: string; secret: string }[]> {
  const byEnding = new Map<number, { text: string; secret: string }[]>()
  for (const secret of secrets) {
    for (const text of new Set([secret, JSON.stringify(secret).slice(1, -1)])) {
      if (text.length < SHORTEST_SECRET) continue
      let hash = 0
      for (let at = text.length - SHORTEST_SECRET; at < text.length; at++) hash = added(hash, text.charCodeAt(at))
      const same = byEnding.get(hash)
      if (same) same.push({ text, secret })
      else byEnding.set(hash, [{ text, secret }])
    }
  }
  return byEnding
}

function added(hash: number, letter: number): number {
  return (Math.imul(hash, FACTOR) + letter) | 0
}

function* occurrences(log: string, byEnding: ReturnType<typeof indexed>): Generator<{ at: number; secret: string }> {
  let hash = 0
  for (let end = 0; end < log.length; end++) {
    hash = added(hash, log.charCodeAt(end))
    if (end >= SHORTEST_SECRET) hash = (hash - Math.imul(OLDEST, log.charCodeAt(end - SHORTEST_SECRET))) | 0
    if (end < SHORTEST_SECRET - 1) continue
    for (const { text, secret } of byEnding.get(hash) ?? []) {
      const at = end + 1 - text.length
      if (at >= 0 && log.startsWith(text, at)) yield { at, secret }
    }
  }
}

function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 12)
}
