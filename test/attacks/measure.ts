import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Part } from '../end_to_end/cluster/part.ts'
import { LIMIT_MEBIBYTES } from '../support/memory_cgroup.ts'
import { errorLines, residentMebibytes } from '../support/server_process.ts'
import { isSoak, soak } from '../support/soak.ts'
import type { Target } from './attacks.ts'
import { call, percentile99, repeat } from './callers.ts'
import type { Caller, Outcome } from './callers.ts'

const SECONDS = Number(process.env['REALMKEEPER_TEST_ATTACK_SECONDS'] ?? soak(1, 60))
const MOST_MEBIBYTES = LIMIT_MEBIBYTES * 0.85
const MOST_RECOVERY_SECONDS = 5

export interface Experiment {
  /** A name of ATTACKS. */
  attack: string
  target: Target
  /** The processes of the product. */
  parts: Part[]
  /** Each of their requests must be answered with 200. */
  callers: Caller[]
  /** The soak run fails when the 99th percentile of the callers that are no probes is longer. */
  mostMillis: number
  /** Something else that goes on during the attack. */
  meanwhile?: (signal: AbortSignal) => Promise<void>
}

/**
 * Runs an attack, and asserts that the processes live with 85 % of their memory and that the callers are answered. Only the
 * soak run, which runs nothing beside it, asserts times. Resolves with what the attacker counted.
 */
export async function expectToWithstand(experiment: Experiment): Promise<Record<string, number>> {
  const { attack, target, parts, callers, mostMillis, meanwhile } = experiment
  for (const { pid } of parts) resetPeak(pid)
  const usedBefore = parts.map(({ pid }) => processorSeconds(pid))
  const attacker = await startAttacker(attack, target)
  const ending = new AbortController()
  const calls = Promise.all(callers.map((caller) => repeat(caller, ending.signal)))
  const beside = meanwhile?.(ending.signal)
  await sleep(SECONDS * 1_000)
  ending.abort()
  const outcomes = await calls
  await beside
  const summary = await attacker.stop()
  const recoverySeconds = await untilServed(callers)
  const used = parts.map(({ pid }, at) => (processorSeconds(pid) - (usedBefore[at] ?? 0)).toFixed(1)).join(' and ')
  const peaks = parts.map(({ pid }) => residentMebibytes(pid).peak)

  const p99s = callers.map(({ name }, at) => `${name} ${percentile99(outcomes[at] ?? []).toFixed(0)} ms`)
  const peakText = peaks.map((peak) => peak.toFixed(0)).join(' and ')
  console.log(
    `${attack}, ${SECONDS} s: peak ${peakText} MiB; ${used} s of processor time; p99 of ${outcomes.flat().length} calls: ${p99s.join(', ')}; ` +
      `served after ${recoverySeconds.toFixed(1)} s; the attacker: ${summary}`,
  )
  for (const part of parts) {
    expect(part.running()).toBe(true)
    expect(errorLines(part.output())).toEqual([])
  }
  for (const peak of peaks) expect(peak).toBeLessThan(MOST_MEBIBYTES)
  for (const [at, { name }] of callers.entries()) {
    // On a busy machine, a check of readiness may take longer than its limit, and logins may wait too long.
    const isFailure = ({ status }: Outcome): boolean => status !== 200 && (isSoak || status !== 503)
    expect((outcomes[at] ?? []).filter(isFailure), `${name} during ${attack}`).toEqual([])
  }
  if (isSoak) {
    const others = outcomes.filter((_, at) => callers[at]?.isProbe !== true).flat()
    expect(percentile99(others)).toBeLessThan(mostMillis)
    expect(recoverySeconds).toBeLessThan(MOST_RECOVERY_SECONDS)
  }
  return JSON.parse(summary)
}

/** Seconds until one request of each caller succeeds. */
async function untilServed(callers: Caller[]): Promise<number> {
  const began = performance.now()
  for (;;) {
    const outcomes = await Promise.all(callers.map((caller) => call(caller)))
    const seconds = (performance.now() - began) / 1_000
    if (outcomes.every(({ status }) => status === 200)) return seconds
    if (seconds > 120) throw new Error(`not served two minutes after the attack: ${JSON.stringify(outcomes)}`)
    await sleep(100)
  }
}

/** Resolves when it has begun. `stop` resolves with what it counted. */
async function startAttacker(attack: string, target: Target): Promise<{ stop(): Promise<string> }> {
  const script = new URL('attacker.ts', import.meta.url).pathname
  const args = [script, attack, JSON.stringify(target)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const killAtExit = (): void => void child.kill('SIGKILL')
  process.once('exit', killAtExit)
  const output = text(child.stdout)
  await once(child.stdout, 'readable')
  return {
    async stop() {
      child.kill('SIGTERM')
      process.removeListener('exit', killAtExit)
      return (await output).replace('started\n', '')
    },
  }
}

/** Of all threads, in user and system mode: fields 14 and 15 of proc(5), in ticks of 10 ms. */
function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** The peak of residentMebibytes begins again (proc(5), clear_refs). */
function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

/** Both probes of a process, each over a new connection, as the kubelet makes them. */
export function probesOf({ healthUrl }: Part): Caller[] {
  return ['livez', 'readyz'].map((name) => ({ name, url: `${healthUrl}/${name}`, isProbe: true, pauseMillis: 100 }))
}
