/** How long things take and how much is asked for at once. Milliseconds, except where the name says otherwise. */
export interface Timings {
  /** Objects in a page of a list. */
  pageSize: number
  /** After how much silence a watch is opened anew. API servers send a bookmark every minute or two. */
  stallMillis: number
  /** A watch without any sign for so long is stale: its list is not taken for complete, and the process is not ready. */
  staleMillis: number
  firstRetryMillis: number
  longestRetryMillis: number
  /** A watch that lived so long was well: its next failure is the first one. */
  wellMillis: number
  /** Least and most seconds after which the API server ends a watch. */
  watchSeconds: readonly [number, number]
  /** Until a call has been answered. */
  callMillis: number
}

export const TIMINGS: Timings = {
  pageSize: 250,
  stallMillis: 150_000,
  // Silence, a second silence, and the list that follows.
  staleMillis: 360_000,
  firstRetryMillis: 250,
  longestRetryMillis: 30_000,
  wellMillis: 5_000,
  watchSeconds: [300, 600],
  callMillis: 30_000,
}
