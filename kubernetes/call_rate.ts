import { pause } from './clock.ts'
import type { Clock } from './clock.ts'

/** Resolves when a call may begin, in the order of the calls; at once for an aborted signal. */
export type AwaitTurn = (signal?: AbortSignal) => Promise<void>

/**
 * Lets at most `perSecond` calls begin in each second, and as many at once after a second without calls (a token bucket,
 * as `--kube-api-qps` and `--kube-api-burst` of Kubernetes components).
 */
export function callRate(perSecond: number, clock: Clock): AwaitTurn {
  const interval = 1_000 / perSecond
  /** When the next call would begin without a burst. */
  let next = clock.now()
  return (signal = NEVER) => {
    const now = clock.now()
    next = Math.max(next, now - 1_000) + interval
    const wait = next - now
    return wait > 0 ? pause(clock, wait, signal) : Promise.resolve()
  }
}

const NEVER = new AbortController().signal
