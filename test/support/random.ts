/** A number from 0 to 1, without 1. */
export type Random = () => number

/** mulberry32: the same numbers for the same seed, so that a failing run can be repeated. */
export function generator(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[below(items.length, random)]!
}

/** A whole number from 0 to `end` - 1. */
export function below(end: number, random: Random): number {
  return Math.floor(random() * end)
}
