import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { soak } from '../support/soak.ts'

/** A request that is repeated while an attack runs. */
export interface Caller {
  name: string
  url: string
  /** GET without one. */
  body?: string
  headers?: Record<string, string>
  /** Has a new connection for each request. */
  isProbe?: true
  /** Between two requests. */
  pauseMillis: number
}

export interface Outcome {
  status: number
  millis: number
}

/** A probe of the kubelet fails after 5 s, see charts/realmkeeper/templates/_helpers.tpl. Other runs assert no times. */
const MOST_MILLIS = soak(60_000, 5_000)

/** Sends one request. Status 0 stands for no answer. */
export function call({ url, body, headers = {} }: Caller, agent: Agent | false = false): Promise<Outcome> {
  const began = performance.now()
  const method = body === undefined ? 'GET' : 'POST'
  return new Promise((resolve) => {
    const end = (status: number): void => {
      clearTimeout(timer)
      resolve({ status, millis: performance.now() - began })
    }
    const outgoing = request(url, { method, headers, agent }, (response) => {
      response.resume()
      response.once('end', () => end(response.statusCode ?? 0))
      response.once('error', () => end(0))
    })
    const timer = setTimeout(() => {
      end(0)
      outgoing.destroy()
    }, MOST_MILLIS)
    outgoing.once('error', () => end(0))
    outgoing.end(body)
  })
}

/** Repeats a request until `signal`; resolves with the outcomes. */
export async function repeat(caller: Caller, signal: AbortSignal): Promise<Outcome[]> {
  const agent = caller.isProbe ? false : new Agent({ keepAlive: true, maxSockets: 1 })
  const outcomes: Outcome[] = []
  while (!signal.aborted) {
    outcomes.push(await call(caller, agent))
    await sleep(caller.pauseMillis)
  }
  if (agent) agent.destroy()
  return outcomes
}

/** Milliseconds; 0 without outcomes. */
export function percentile99(outcomes: Outcome[]): number {
  const sorted = outcomes.map(({ millis }) => millis).toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0
}
