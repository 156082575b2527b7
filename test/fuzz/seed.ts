import { generator } from '../support/random.ts'
import type { Random } from '../support/random.ts'
import { isSoak } from '../support/soak.ts'

const given = process.env['REALMKEEPER_TEST_FUZZ_SEED']
const only = process.env['REALMKEEPER_TEST_FUZZ_CASE']

/**
 * The short run repeats the same cases, so that a failure comes from the change under test; the long run takes other cases
 * each time. REALMKEEPER_TEST_FUZZ_SEED and REALMKEEPER_TEST_FUZZ_CASE repeat one.
 */
const SEED = given === undefined ? (isSoak ? Date.now() % 2 ** 31 : 1) : Number(given)

/** Runs cases 0 to `count` - 1, each with numbers of its own, `lanes` at a time. Rejects with the case that failed. */
export async function playCases(
  count: number,
  lanes: number,
  play: (random: Random, number: number, lane: number) => Promise<void>,
): Promise<void> {
  const first = only === undefined ? 0 : Number(only)
  const end = only === undefined ? count : first + 1
  let next = first
  let failure: Error | undefined
  async function playLane(lane: number): Promise<void> {
    while (next < end && failure === undefined) {
      const number = next++
      try {
        await play(generator(SEED * 1_000_003 + number), number, lane)
      } catch (error) {
        const variables = `REALMKEEPER_TEST_FUZZ_SEED=${SEED} REALMKEEPER_TEST_FUZZ_CASE=${number}`
        failure ??= new Error(`Repeat it with ${variables}: ${String(error)}`)
      }
    }
  }
  console.log(`${end - first} cases of REALMKEEPER_TEST_FUZZ_SEED=${SEED}`)
  await Promise.all(Array.from({ length: lanes }, (_, lane) => playLane(lane)))
  if (failure) throw failure
}
