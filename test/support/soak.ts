/** Set by `npm run test:soak`. The soak run plays random sequences at full length; the other runs play a part of them. */
export const isSoak = process.env['REALMKEEPER_TEST_SOAK'] === '1'

/** How often a random test repeats: `normal` times in `npm test` and `npm run test:cluster`, `long` times in the soak run. */
export function soak(normal: number, long: number): number {
  return isSoak ? long : normal
}
