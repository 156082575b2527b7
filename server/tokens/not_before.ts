import type { TokenSettings } from '../../store/realms.ts'

/**
 * The realm's `notBefore` in epoch seconds, 0 when there is none: a token whose `iat` is less is not good. Rounded up,
 * because `iat` has no fractions: nothing that was issued before that moment passes.
 */
export function notBeforeSeconds({ notBefore }: Pick<TokenSettings, 'notBefore'>): number {
  return notBefore === undefined ? 0 : Math.ceil(Date.parse(notBefore) / 1000)
}
