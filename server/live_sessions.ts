import type { Db } from '../store/db.ts'
import { findLiveSessions } from '../store/live_sessions.ts'
import type { LiveSession, SessionKey } from '../store/live_sessions.ts'

interface Waiting {
  key: SessionKey
  resolve: (session: LiveSession | undefined) => void
  reject: (error: unknown) => void
}

/** A statement with more keys than this makes others wait for it. */
const MAX_KEYS = 100

/**
 * Reads sessions as they are at this moment. What is asked for within one turn of the event loop shares a statement:
 * the statement begins after every one of its questions, so nobody gets an answer older than the question.
 */
export function createLiveSessionReader(
  db: Db,
  now: () => Date,
): (key: SessionKey) => Promise<LiveSession | undefined> {
  let waiting: Waiting[] = []

  function ask(): void {
    const asked = waiting
    waiting = []
    for (let start = 0; start < asked.length; start += MAX_KEYS) void answer(asked.slice(start, start + MAX_KEYS))
  }

  async function answer(asked: Waiting[]): Promise<void> {
    try {
      const sessions = await findLiveSessions(
        db,
        asked.map(({ key }) => key),
        now(),
      )
      for (const [at, { resolve }] of asked.entries()) resolve(sessions[at])
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }

  return (key) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ key, resolve, reject }) === 1) setImmediate(ask)
    })
}
