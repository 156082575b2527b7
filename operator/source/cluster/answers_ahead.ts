import { isLater } from '../../../kubernetes/api_object.ts'
import type { ListState } from '../../../kubernetes/reflector.ts'

/**
 * Which objects of a cache came from answers to reads and writes, ahead of the watch. A list that was requested before
 * such an answer may be older, and must not undo it. Every other object of a list replaces the one in the cache.
 * Resource versions are not compared: after a restore of etcd, the versions of a former history mean nothing.
 */
export interface AnswersAhead {
  /** The object of this key came from an answer. */
  answered(key: string): void
  /** The object of this key came from the watch or a list, or is gone. */
  forget(key: string): void
  /** To be called before a list is requested. The result tells whether an object in the cache is newer than that list. */
  listBegins(): (cached: { key: string; resourceVersion: string }, list: ListState) => boolean
}

export function answersAhead(): AnswersAhead {
  let answers = 0
  const latest = new Map<string, number>()

  return {
    answered(key) {
      answers += 1
      latest.set(key, answers)
    },
    forget: (key) => void latest.delete(key),
    listBegins() {
      const before = answers
      return ({ key, resourceVersion }, list) =>
        !list.isRestored && (latest.get(key) ?? 0) > before && isLater(resourceVersion, list.resourceVersion)
    },
  }
}
