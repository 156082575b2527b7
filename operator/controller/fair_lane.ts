/** Keys that wait, `namespace/name`, each with the time since when. */
export interface FairLane {
  /** Adds a key that is not in the lane. */
  add(key: string, since: number): void
  has(key: string): boolean
  /** Returns the time of a key that was in the lane. */
  remove(key: string): number | undefined
  /** Removes and returns the next key. */
  take(): string | undefined
  size(): number
  /** The earliest time of all keys; Infinity without any. */
  oldest(): number
}

/** Hands out the namespaces in turn, so that thousands of keys of one delay no other; within one, the first key first. */
export function fairLane(): FairLane {
  // Both keep their order; the namespace whose turn it is comes first.
  const namespaces = new Map<string, Map<string, number>>()
  let size = 0

  function remove(key: string): number | undefined {
    const namespace = namespaceOf(key)
    const keys = namespaces.get(namespace)
    const since = keys?.get(key)
    if (!keys?.delete(key)) return undefined
    size -= 1
    if (keys.size === 0) namespaces.delete(namespace)
    return since
  }

  return {
    add(key, since) {
      const namespace = namespaceOf(key)
      const keys = namespaces.get(namespace) ?? new Map<string, number>()
      keys.set(key, since)
      namespaces.set(namespace, keys)
      size += 1
    },
    has: (key) => namespaces.get(namespaceOf(key))?.has(key) === true,
    remove,
    take() {
      const [entry] = namespaces
      if (!entry) return undefined
      const [namespace, keys] = entry
      const [key] = keys.keys()
      namespaces.delete(namespace)
      namespaces.set(namespace, keys)
      if (key !== undefined) remove(key)
      return key
    },
    size: () => size,
    oldest: () => Math.min(...[...namespaces.values()].flatMap((keys) => [...keys.values()].slice(0, 1))),
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')))
}
