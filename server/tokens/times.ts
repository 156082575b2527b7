import type { TokenSettings } from '../../store/realms.ts'

/** Epoch seconds, rounded down: a token never states a longer lifetime than it has. */
export function epochSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}

/**
 * The realm's `notBefore` in epoch seconds, 0 when there is none: a token with a lower `iat` is not good. Rounded up,
 * because `iat` has no fractions: no token issued before that moment passes.
 */
export function notBeforeSeconds({ notBefore }: Pick<TokenSettings, 'notBefore'>): number {
  return notBefore === undefined ? 0 : Math.ceil(Date.parse(notBefore) / 1000)
}
