import { isIPv6 } from 'node:net'
import { OAuthError } from '../http/oauth_error.ts'

/** One login under way. It counts as failed until it is said to be something else. */
export interface CountedLogin {
  /** It succeeded, or was never judged: it does not count. */
  takeBack(): void
}

export interface LoginLimit {
  /** @throws OAuthError 429 when this key has failed too often within the last minute */
  begin(key: string, now: Date): CountedLogin
}

interface Window {
  failures: number
  endsAt: number
}

const WINDOW_MILLIS = 60_000
const MAX_KEYS = 100_000

/**
 * At most `limit` failed logins a minute for one key, in this process; 0 is off. A login counts from its beginning, so
 * that a thousand at once are not all let in. Memory is bounded: the windows that close first are forgotten first.
 */
export function createLoginLimit(limit: number): LoginLimit {
  const windows = new Map<string, Window>()
  return {
    begin(key, now) {
      if (limit === 0) return { takeBack() {} }
      const time = now.getTime()
      let window = windows.get(key)
      // A clock that was set back must not keep anybody out for longer than a minute.
      if (!window || window.endsAt <= time || window.endsAt > time + WINDOW_MILLIS) {
        windows.delete(key)
        dropClosed(windows, time)
        window = { failures: 0, endsAt: time + WINDOW_MILLIS }
        windows.set(key, window)
      }
      if (window.failures >= limit) throw tooManyFailures(window.endsAt - time)
      const counted = window
      counted.failures += 1
      return {
        takeBack() {
          counted.failures -= 1
        },
      }
    },
  }
}

/** Insertion order is the order in which windows close. When there are too many, a tenth goes: one by one is slow. */
function dropClosed(windows: Map<string, Window>, time: number): void {
  const most = windows.size < MAX_KEYS ? MAX_KEYS : MAX_KEYS * 0.9
  for (const [key, window] of windows) {
    if (window.endsAt > time && windows.size < most) return
    windows.delete(key)
  }
}

function tooManyFailures(millis: number): OAuthError {
  return new OAuthError('rate_limited', 'Too many failed logins', {
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(millis / 1000))) },
  })
}

/** What an address is counted as: an IPv6 caller has a whole /64 to send from. */
export function addressKey(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? []
  const groups = head.split(':').filter(Boolean)
  if (tail !== undefined) {
    const rest = tail.split(':').filter(Boolean)
    const dotted = rest.at(-1)?.includes('.') ? 1 : 0
    while (groups.length + rest.length + dotted < 8) groups.push('0')
    groups.push(...rest)
  }
  return `${groups.slice(0, 4).join(':')}::/64`
}
