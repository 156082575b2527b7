import type { Election, Term } from './leader_election.ts'
import type { Leadership } from './leadership.ts'
import type { QueueStats } from '../controller/queue.ts'
import type { Kind, ResourceKey } from '../source/resource.ts'
import type { ResourceSource, SecretName } from '../source/resource_source.ts'

/** Calls `lead` for each time that this process may write, as `runWhileLeading` does. */
export type Elect = (lead: (term: Term) => Promise<void>) => Election

/** An operator that stands by, leads, and may stand by again. */
export interface Turns {
  begin(): void
  /** `waits`: another one leads. `starts`: it may write, and does not work yet. */
  state(): 'waits' | 'starts' | 'leads'
  /** Resolves when this process must not go on. */
  failed: Promise<Error>
  stats(kind: Kind): QueueStats | undefined
  stop(): Promise<void>
}

/**
 * Leads in every term anew: another one may have written in between. A process whose Lease is lost waits for it again;
 * one that Postgres deposed ends, because it slept, or somebody leads without the Lease.
 */
export function takeTurns(options: {
  elect: Elect
  source: ResourceSource
  lead: (source: ResourceSource) => Leadership
}): Turns {
  const sourceOfTurn = turnsOf(options.source)
  const failure = Promise.withResolvers<Error>()
  let leadership: Leadership | undefined
  let election: Election | undefined

  async function lead({ signal }: Term): Promise<void> {
    const mine = options.lead(sourceOfTurn())
    leadership = mine
    void mine.failed.then(failure.resolve)
    mine.begin()
    await aborted(signal)
    leadership = undefined
    await mine.stop()
  }

  return {
    failed: failure.promise,
    begin() {
      election = options.elect(lead)
      election.ended.catch((error: unknown) => {
        failure.resolve(error instanceof Error ? error : new Error(String(error)))
      })
    },
    state() {
      if (!leadership) return 'waits'
      return leadership.isLeading() ? 'leads' : 'starts'
    },
    stats: (kind) => leadership?.stats(kind),
    stop: async () => election?.stop(),
  }
}

/** Without an election it is always this process's turn. */
export function alone(lead: (term: Term) => Promise<void>): Election {
  const stopping = new AbortController()
  const ended = lead({ isLeading: () => true, signal: stopping.signal })
  return {
    isLeading: () => true,
    ended,
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** The source for one turn after another: what listened in a former turn hears nothing any more. */
function turnsOf(source: ResourceSource): () => ResourceSource {
  let onResource: ((key: ResourceKey) => void)[] = []
  let onSecret: ((secret: SecretName) => void)[] = []
  source.onResource((key) => onResource.forEach((listener) => listener(key)))
  source.onSecret((secret) => onSecret.forEach((listener) => listener(secret)))
  return () => {
    onResource = []
    onSecret = []
    return {
      ...source,
      onResource: (listener) => void onResource.push(listener),
      onSecret: (listener) => void onSecret.push(listener),
    }
  }
}
