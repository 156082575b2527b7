/** Failed decrypts of each subject within a minute, in this process. */
export interface FailedDecrypts {
  /** Seconds until the subject may try again; 0 when it may now. */
  secondsToWait(realm: string, subject: string, now: Date): number
  count(realm: string, subject: string, now: Date): void
}

interface Window {
  failures: number
  endsAt: number
}

const WINDOW_MILLIS = 60_000
const MAX_SUBJECTS = 100_000

/** `limit` failures a minute and subject; 0 is off. A window opens with a failure and closes by itself. */
export function createFailedDecrypts(limit: number): FailedDecrypts {
  const windows = new Map<string, Window>()
  // U+0000 is in no realm's name, so two pairs never share a key.
  const keyOf = (realm: string, subject: string): string => `${realm}\0${subject}`
  return {
    secondsToWait(realm, subject, now) {
      if (limit === 0) return 0
      const window = windows.get(keyOf(realm, subject))
      if (!window || window.failures < limit || !isOpen(window, now)) return 0
      return Math.ceil((window.endsAt - now.getTime()) / 1000)
    },
    count(realm, subject, now) {
      if (limit === 0) return
      const key = keyOf(realm, subject)
      const window = windows.get(key)
      if (window && isOpen(window, now)) {
        window.failures += 1
        return
      }
      // Set anew, so that insertion order is the order in which windows close.
      windows.delete(key)
      dropClosed(windows, now)
      windows.set(key, { failures: 1, endsAt: now.getTime() + WINDOW_MILLIS })
    },
  }
}

/** A clock that was set back must not keep anybody out for longer than a minute. */
function isOpen({ endsAt }: Window, now: Date): boolean {
  return endsAt > now.getTime() && endsAt <= now.getTime() + WINDOW_MILLIS
}

/** Insertion order is the order in which windows close; at the bound, the one that closes first is forgotten. */
function dropClosed(windows: Map<string, Window>, now: Date): void {
  for (const [key, window] of windows) {
    if (window.endsAt > now.getTime() && windows.size < MAX_SUBJECTS) return
    windows.delete(key)
  }
}
