import type { TokenKey } from './keyring.ts'

/** The inputs for the rotation of one kind of token key. */
export interface TokenKeyRules<Key extends TokenKey> {
  now: Date
  /** False for a key of an algorithm that the realm no longer chooses. */
  isWanted: (key: Key) => boolean
  /** True when every live replica holds the key. */
  isHeld: (key: Key) => boolean
  /** How long a key is published before it signs. */
  publishSeconds: number
  /** How soon to plan again while a replica lacks a key. */
  pollSeconds: number
  periodSeconds: number
  /** The longest lifetime of a token that the active key signs at present. */
  tokenLifetimeSeconds: number
  /** A rotation on demand is due. */
  isDemanded: boolean
  maxKeys: number
}

export interface TokenKeyChange {
  key: string
  step: 'published' | 'active' | 'passive' | 'dropped' | 'removed'
}

export interface TokenKeyPlan<Key> {
  keys: Key[]
  changed: boolean
  changes: TokenKeyChange[]
  /** The state of the key to create, if one is due. */
  newKeyState?: 'pending' | 'active'
  recheckAt?: Date
}

/** A replica that has not read the keyring yet signs with the old key for up to 30 s more. */
const RETIREMENT_SLACK_SECONDS = 60

/**
 * The next step of the keys that sign tokens: pending, active, passive, removed. Pure; planned again after each write
 * until nothing changes.
 */
export function planTokenKeys<Key extends TokenKey>(
  before: readonly Key[],
  rules: TokenKeyRules<Key>,
): TokenKeyPlan<Key> {
  const at = rules.now.toISOString()
  const changes: TokenKeyChange[] = []
  const step = (key: Key, name: TokenKeyChange['step']) => void changes.push({ key: key.kid, step: name })

  const kept = before.filter((key) => {
    const isOver = key.state === 'passive' && lastTokenExpiresAt(key, rules) <= rules.now.getTime()
    // A pending key of another algorithm has signed nothing, so nothing is lost with it.
    const isDropped = key.state === 'pending' && !rules.isWanted(key)
    if (isOver) step(key, 'removed')
    if (isDropped) step(key, 'dropped')
    return !isOver && !isDropped
  })

  const active = kept.find(({ state }) => state === 'active')
  const pending = kept
    .filter(({ state }) => state === 'pending')
    .toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))[0]
  const isPublished = pending !== undefined && (pending.publishedAt !== undefined || rules.isHeld(pending))
  // Without an active key nothing can be signed, which is worse than a client that has to fetch the JWK Set again.
  const isPromoted = pending !== undefined && (!active || isReady(pending, rules))

  const keys = kept.map((key): Key => {
    if (key === pending && isPromoted) {
      step(key, 'active')
      return { ...key, publishedAt: key.publishedAt ?? at, state: 'active', activatedAt: at, ...lifetime(key, rules) }
    }
    if (key === pending && isPublished && key.publishedAt === undefined) {
      step(key, 'published')
      return { ...key, publishedAt: at }
    }
    if (key === active && isPromoted) {
      step(key, 'passive')
      return { ...key, state: 'passive', passiveAt: at, ...lifetime(key, rules) }
    }
    // The longest lifetime since the key became active counts.
    return key === active ? { ...key, ...lifetime(key, rules) } : key
  })

  const isDue = active !== undefined && (activeUntil(active, rules) <= rules.now.getTime() || !rules.isWanted(active))
  const isNewWanted = pending === undefined && (!active || isDue || rules.isDemanded)
  // Passive keys expire, so a full list only delays a rotation; demands must not grow the Secret without bound.
  const newKeyState = isNewWanted && keys.length < rules.maxKeys ? (active ? 'pending' : 'active') : undefined

  const recheckAt = nextRecheck(keys, rules)
  return {
    keys,
    changed:
      changes.length > 0 || keys.some((key, index) => key.tokenLifetimeSeconds !== kept[index]?.tokenLifetimeSeconds),
    changes,
    ...(newKeyState && { newKeyState }),
    ...(recheckAt && { recheckAt }),
  }
}

/** Whether every live replica holds the key and it has been published long enough. */
function isReady<Key extends TokenKey>(pending: Key, rules: TokenKeyRules<Key>): boolean {
  if (!rules.isHeld(pending)) return false
  const publishedAt = pending.publishedAt === undefined ? rules.now.getTime() : Date.parse(pending.publishedAt)
  return publishedAt + rules.publishSeconds * 1000 <= rules.now.getTime()
}

function lifetime<Key extends TokenKey>(key: Key, rules: TokenKeyRules<Key>): { tokenLifetimeSeconds: number } {
  return { tokenLifetimeSeconds: Math.max(key.tokenLifetimeSeconds ?? 0, rules.tokenLifetimeSeconds) }
}

function lastTokenExpiresAt<Key extends TokenKey>(key: Key, rules: TokenKeyRules<Key>): number {
  const seconds = (key.tokenLifetimeSeconds ?? rules.tokenLifetimeSeconds) + RETIREMENT_SLACK_SECONDS
  return Date.parse(key.passiveAt ?? key.activatedAt ?? key.createdAt) + seconds * 1000
}

function activeUntil<Key extends TokenKey>(key: Key, rules: TokenKeyRules<Key>): number {
  return Date.parse(key.activatedAt ?? key.createdAt) + rules.periodSeconds * 1000
}

function nextRecheck<Key extends TokenKey>(keys: readonly Key[], rules: TokenKeyRules<Key>): Date | undefined {
  const now = rules.now.getTime()
  const poll = now + rules.pollSeconds * 1000
  const isWaiting = keys.some(({ state }) => state === 'pending')
  const times = keys.map((key) => {
    if (key.state === 'passive') return lastTokenExpiresAt(key, rules)
    if (key.state === 'active') return isWaiting ? Infinity : activeUntil(key, rules)
    const publishedUntil = Date.parse(key.publishedAt ?? '') + rules.publishSeconds * 1000
    return publishedUntil > now ? publishedUntil : poll
  })
  const next = Math.min(...times)
  return Number.isFinite(next) ? new Date(Math.max(next, now)) : undefined
}
