import type { Logger } from 'pino'
import type { OperatorMetrics } from '../metrics.ts'
import { keyText, KINDS } from '../source/resource.ts'
import type { Kind } from '../source/resource.ts'
import type { ResourceSource } from '../source/resource_source.ts'

/** Reports what the operator leaves alone because `--watch-namespaces` does not name its namespace. */
export interface OutsideScope {
  /** Rows of a kind whose resource is in a namespace that is not watched. */
  report(kind: Kind, rows: readonly { namespace: string }[]): void
  /** Objects that are being deleted and wait for the finalizer, as far as the operator may list them. Never throws. */
  reportWaiting(): Promise<void>
}

/** Objects that are named in one message. */
const MAX_NAMED = 10

export function outsideScope(options: {
  source: Pick<ResourceSource, 'waitingOutside'>
  metrics: Pick<OperatorMetrics, 'outsideScope'>
  log: Logger
}): OutsideScope {
  const { source, metrics, log } = options
  /** The messages logged last, so that a resync does not repeat them. */
  const logged = new Map<string, string>()

  function warn(about: string, details: object, message: string): void {
    const text = JSON.stringify(details)
    if (logged.get(about) === text) return
    logged.set(about, text)
    log.warn(details, message)
  }

  return {
    report(kind, rows) {
      metrics.outsideScope('rows', kind, rows.length)
      if (rows.length === 0) {
        logged.delete(kind)
        return
      }
      const namespaces = [...new Set(rows.map(({ namespace }) => namespace))].toSorted()
      const named = namespaces.slice(0, MAX_NAMED)
      warn(
        kind,
        { kind, rows: rows.length, namespaces: named, otherNamespaces: namespaces.length - named.length },
        `rows of namespaces outside --watch-namespaces stay in force, and edits and deletions of their ${kind}s have no ` +
          'effect: watch these namespaces again (in the chart: watchNamespaces), or remove the rows with ' +
          `"realmkeeper operator --accept-empty ${kind}" (operator.acceptEmpty)`,
      )
    },
    async reportWaiting() {
      const waiting = await source.waitingOutside?.().catch((error: unknown) => {
        log.debug({ err: error }, 'objects outside --watch-namespaces could not be listed')
        return undefined
      })
      if (!waiting) return
      for (const kind of KINDS) {
        metrics.outsideScope('waiting', kind, waiting.filter((key) => key.kind === kind).length)
      }
      if (waiting.length === 0) {
        logged.delete('waiting')
        return
      }
      warn(
        'waiting',
        { objects: waiting.length, resources: waiting.slice(0, MAX_NAMED).map(keyText) },
        'objects outside --watch-namespaces are being deleted and wait for the finalizer of an operator: watch their ' +
          'namespaces again, or run "realmkeeper release --namespace NAME --no-lease"',
      )
    },
  }
}
