import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'

/** The environment variable that names the folder with the logs of a test run and the secrets that they must not hold. */
export const LOGS_VARIABLE = 'REALMKEEPER_TEST_LOGS'

/** Files with this prefix hold secrets, one JSON string per line. Files that end in `.log` are searched. */
export const SECRETS_PREFIX = 'secrets-'

/** In characters. Shorter texts occur by chance. */
export const SHORTEST_SECRET = 8

export interface Findings {
  logLines: number
  secrets: number
  /** File and line of each log line that holds a secret, with a digest of the secret. */
  leaks: string[]
}

/** Searches every log for every recorded secret. For a token, only its signature is secret. */
export async function findLeaks(logs: string): Promise<Findings> {
  const names: string[] = await readdir(logs).catch(() => [])
  const secrets = new Set<string>()
  for (const name of names.filter((each) => each.startsWith(SECRETS_PREFIX))) {
    for (const line of (await readFile(`${logs}/${name}`, 'utf8')).split('\n')) {
      if (line) secrets.add(secretPart(String(JSON.parse(line))))
    }
  }
  const byEnding = indexByEnding(secrets)
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

/** A summary: how many lines were searched for how many secrets. */
export function findingsLine({ logLines, secrets, leaks }: Findings): string {
  const found = leaks.length === 0 ? 'none found' : `${leaks.length} found`
  return `canary: ${logLines.toLocaleString('en')} log lines, ${secrets.toLocaleString('en')} secrets, ${found}`
}

function secretPart(secret: string): string {
  const parts = secret.split('.')
  const [, , signature = ''] = parts
  return parts.length === 3 && signature.length >= SHORTEST_SECRET ? signature : secret
}

// Rabin–Karp: a run records tens of thousands of secrets. One pass over a log computes a rolling hash of the last
// characters, and compares texts only where the end of a secret has the same hash.
const FACTOR = 31
const OLDEST_FACTOR = Array.from({ length: SHORTEST_SECRET }).reduce<number>((power) => Math.imul(power, FACTOR), 1)

/** Secrets, plain and as JSON escapes them, by the hash of their last characters. */
function indexByEnding(secrets: Set<string>): Map<number, { text: string; secret: string }[]> {
  const byEnding = new Map<number, { text: string; secret: string }[]>()
  for (const secret of secrets) {
    for (const text of new Set([secret, JSON.stringify(secret).slice(1, -1)])) {
      if (text.length < SHORTEST_SECRET) continue
      let hash = 0
      for (let at = text.length - SHORTEST_SECRET; at < text.length; at++) hash = addToHash(hash, text.charCodeAt(at))
      const same = byEnding.get(hash)
      if (same) same.push({ text, secret })
      else byEnding.set(hash, [{ text, secret }])
    }
  }
  return byEnding
}

function addToHash(hash: number, character: number): number {
  return (Math.imul(hash, FACTOR) + character) | 0
}

function* occurrences(
  log: string,
  byEnding: ReturnType<typeof indexByEnding>,
): Generator<{ at: number; secret: string }> {
  let hash = 0
  for (let end = 0; end < log.length; end++) {
    hash = addToHash(hash, log.charCodeAt(end))
    if (end >= SHORTEST_SECRET) hash = (hash - Math.imul(OLDEST_FACTOR, log.charCodeAt(end - SHORTEST_SECRET))) | 0
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
