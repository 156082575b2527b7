import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import { pause } from '../../kubernetes/clock.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { appendAudit, lastAuditRow } from '../../store/audit.ts'
import { headsDigest, writeSignedHeads } from '../../store/operator/audit_heads.ts'
import type { ChainHead } from '../../store/operator/audit_heads.ts'
import { Deposed } from '../../store/operator/epoch.ts'
import type { OperatorMetrics } from '../metrics.ts'
import type { StoreAccess } from '../rows/store_access.ts'
import type { ResourceSource, SecretAccess } from '../source/resource_source.ts'
import { AUDIT_SECRET, readAuditKey } from './audit_secret.ts'
import type { AuditKey } from './audit_secret.ts'
import { checkChains, headText } from './check_chains.ts'
import type { ChainBreak, ChainsCheck } from './check_chains.ts'
import { signState } from './signature.ts'
import type { AuditState } from './signature.ts'
import { nextHeads, trustedState } from './signed_state.ts'

export interface AuditSigningOptions {
  store: StoreAccess
  secrets: SecretAccess
  source: Pick<ResourceSource, 'recordEvent'>
  /** Namespace of the Secret with the key. */
  namespace: string
  /** Names the break that the owner accepts, as its message shows it. */
  acceptedBreak: string | undefined
  metrics: Pick<OperatorMetrics, 'auditChecked'>
  clock: Clock
  log: Logger
  onDeposed: (error: Deposed) => void
}

export interface AuditSigning {
  /** Until `signal` is aborted: every minute checks all chains and signs what is new. */
  run(signal: AbortSignal): Promise<void>
  /** Checks and signs once. Rejects when the database or the Secret cannot be read or written. */
  signOnce(signal: AbortSignal): Promise<{ hasMore: boolean }>
  /** Signs what the end of a term wrote. Gives up after some seconds. */
  signLast(): Promise<void>
}

const INTERVAL_MILLIS = 60_000
const LAST_MILLIS = 3_000
/** Least time between two Events about signatures. */
const EVENT_MILLIS = 10 * 60_000
/** Heads in one line of the log. */
const HEADS_A_LINE = 25
const NO_HEADS = headsDigest().hex()

/**
 * Signs the heads of all audit chains, so that rows that were signed cannot be rewritten or removed unnoticed. The key
 * and the last signed state are in a Secret, which no account of the database can change.
 *
 * A check trusts only what it can compare with that Secret: the digest of all signed heads. It then compares each chain
 * with its head, and verifies the rows after it. A chain that does not continue its head is reported at every check and
 * not signed any more, until the owner accepts it.
 */
export function auditSigning(options: AuditSigningOptions): AuditSigning {
  const { store, secrets, namespace, acceptedBreak, clock, log } = options
  let eventAt: number | undefined

  async function signOnce(signal: AbortSignal): Promise<{ hasMore: boolean }> {
    const key = await readAuditKey(secrets, namespace, NO_HEADS)
    if (key.isNew) log.info({ keyId: key.keyId }, `the key that signs audit chains was generated: ${secretName()}`)
    const { trusted, problem } = await trustedState(store, key)
    const check = await checkChains(store.db, { signal })
    const isTrusted = problem === undefined && check.digest === trusted.digest
    const stateProblem = isTrusted ? undefined : (problem ?? 'the signed heads are not those that were signed last')

    const token = breakToken(
      stateProblem === undefined ? check.breaks.map(breakIdentity) : [stateProblem, key.signed, check.digest],
    )
    const isAccepted = token !== undefined && token === acceptedBreak
    if (stateProblem !== undefined && !isAccepted) {
      report(1, `${stateProblem}; no chain is signed`, token)
      return { hasMore: false }
    }
    if (stateProblem !== undefined) {
      const fromStart = await checkChains(store.db, { ignoreHeads: true, signal })
      const accepted = { token, what: stateProblem }
      await sign(key, { trusted: { ...trusted, digest: NO_HEADS }, check: fromStart, reset: true, accepted })
      return fromStart
    }
    if (check.breakCount > 0 && !isAccepted) {
      report(check.breakCount, check.breaks.map(breakText).join('; '), token)
    } else options.metrics.auditChecked(0)
    const accepted = isAccepted ? { token, breaks: check.breaks } : undefined
    if (check.grown.length > 0 || accepted) await sign(key, { trusted, check, reset: false, accepted })
    else if (trusted.number > key.signed.number) {
      await key.store(trusted)
      publish(trusted, [], key.keyId)
    }
    return check
  }

  interface ToSign {
    trusted: AuditState
    check: ChainsCheck
    reset: boolean
    accepted: { token: string | undefined; what?: string; breaks?: ChainBreak[] } | undefined
  }

  async function sign(key: AuditKey, { trusted, check, reset, accepted }: ToSign): Promise<void> {
    const at = store.now()
    const heads = new Map(check.grown.map((head) => [head.writer, head]))
    const removed: string[] = []
    for (const { writer } of accepted?.breaks ?? []) {
      const last = await lastAuditRow(store.db, writer)
      if (last) heads.set(writer, last)
      else removed.push(writer)
    }
    const next = await nextHeads(store, { trusted, heads, removed, reset, at })
    const signed = { number: trusted.number + 1, digest: next.digest }
    const jws = await signState(signed, at, key.privateJwk)
    await store.transaction(async (db) => {
      await writeSignedHeads(db, { heads: next.changed, removed, jws, reset })
      if (accepted) {
        const details = { token: accepted.token ?? '', what: accepted.what ?? check.breaks.map(breakText) }
        await appendAudit(db, store.auditWriter, [{ at, action: 'audit_break_accepted', realm: '', details }])
      }
    })
    publish(signed, next.changed, key.keyId)
    // After the commit: a signature that only the database has is accepted at the next check, because the key made it.
    await key.store(signed)
  }

  function publish({ number, digest }: AuditState, heads: ChainHead[], keyId: string): void {
    const texts = heads.map(headText)
    for (let first = 0; first === 0 || first < texts.length; first += HEADS_A_LINE) {
      const line = { signature: number, digest, keyId, heads: texts.slice(first, first + HEADS_A_LINE) }
      log.info(line, 'audit chains are signed')
    }
    // The Events of one object are limited, and those about a break must not be left out.
    if (eventAt !== undefined && clock.now() - eventAt < EVENT_MILLIS) return
    eventAt = clock.now()
    event('Normal', 'AuditSigned', `signature ${number}: ${texts.join(' ')}`)
  }

  function report(count: number, text: string, token: string | undefined): void {
    options.metrics.auditChecked(count)
    // The name first: long texts are cut.
    const message = `to accept it, --accept-audit-break ${token}: ${text}`
    log.error({ chains: count }, `the audit does not continue what was signed; ${message}`)
    event('Warning', 'AuditBroken', message)
  }

  function event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    options.source.recordEvent({ kind: 'Secret', namespace, name: AUDIT_SECRET }, { type, reason, message })
  }

  function secretName(): string {
    return `Secret ${namespace}/${AUDIT_SECRET}`
  }

  async function attempt(signal: AbortSignal): Promise<void> {
    try {
      while ((await signOnce(signal)).hasMore && !signal.aborted);
    } catch (error) {
      if (error instanceof Deposed) options.onDeposed(error)
      else log.warn({ err: error }, 'audit chains could not be checked and signed; the operator retries it')
    }
  }

  return {
    signOnce,
    async run(signal) {
      while (!signal.aborted) {
        await pause(clock, INTERVAL_MILLIS, signal)
        if (!signal.aborted) await attempt(signal)
      }
    },
    async signLast() {
      const over = new AbortController()
      await Promise.race([attempt(over.signal), pause(clock, LAST_MILLIS, over.signal)])
      over.abort()
    },
  }
}

function breakText({ writer, seq, what, signed }: ChainBreak): string {
  const row = `row ${seq} of ${writer}`
  if (what === 'missing') return `${row}, which was signed, is gone`
  if (what === 'replaced') return `${row} is not the one that was signed`
  return signed ? `${row} does not continue the signed row ${signed.seq}` : `${row} does not continue its chain`
}

/** What stays the same while a chain is broken, also when it grows. */
function breakIdentity({ writer, seq, what, signed }: ChainBreak): unknown[] {
  // Rows before a row that does not follow are signed meanwhile.
  return [writer, seq, what, what === 'broken' ? null : signed?.hash.toString('hex')]
}

/** Names a problem; undefined without one. */
function breakToken(problem: unknown[]): string | undefined {
  if (problem.length === 0) return undefined
  return createHash('sha256').update(JSON.stringify(problem)).digest('hex').slice(0, 16)
}
