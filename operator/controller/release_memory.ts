import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Runs a full garbage collection. V8 keeps the heap that it has grown to until memory is short: call this after work
 * that is done once and makes much garbage, such as the first list of thousands of resources.
 */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc')
  // `gc` exists only in contexts that are created after the flag was set.
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
}
