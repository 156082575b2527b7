import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Collects all garbage now, once. V8 keeps what its heap grew to as long as nothing presses it; after work that is
 * done once and makes much garbage, such as the first look at thousands of resources, that would be kept for ever.
 */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc')
  // The flag shows in contexts that are made after it.
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
}
