import { Counter } from 'prom-client'

/** The verbs of RBAC. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete'

/** Called for each attempt of a call, with the HTTP status of its answer; 0 without one. */
export type CountCall = (verb: Verb, code: number) => void

/** Counts the calls of the API clients of a process. The process registers the counter with its other metrics. */
export function callCounter(): { counter: Counter; count: CountCall } {
  const counter = new Counter({
    name: 'realmkeeper_kubernetes_api_calls_total',
    help: 'Calls of the API server, by verb and HTTP status; 0 means no answer. A watch counts when it opens',
    labelNames: ['verb', 'code'],
    registers: [],
  })
  return { counter, count: (verb, code) => counter.inc({ verb, code }) }
}
