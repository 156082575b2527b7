import { statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'

export interface Looking {
  /** Which folders to watch from now on. */
  watchFolders(folders: string[]): void
  /** Looks again soon. */
  lookSoon(): void
  /** Resolves when no look is running any more; none begins afterwards. */
  stop(): Promise<void>
}

export interface LookingOptions {
  /** One look; never two at a time. `poll` is true for those that the timer began. Must not reject. */
  look: (poll: boolean) => Promise<void>
  pollMilliseconds: number
}

// Long enough for an editor's several writes, short enough for nobody to notice.
const SETTLE_MILLISECONDS = 60

/**
 * Looks at a directory when one of its folders says that something happened, and at every poll. Each folder has a
 * watch of its own: a recursive one goes deaf on a file after an atomic rename over it.
 */
export function keepLooking({ look, pollMilliseconds }: LookingOptions): Looking {
  const watchers = new Map<string, { watcher: FSWatcher; inode: bigint }>()
  let running: Promise<void> = Promise.resolve()
  let stopped = false
  let soon: NodeJS.Timeout | undefined
  let poll: NodeJS.Timeout | undefined

  function run(isPoll: boolean): Promise<void> {
    running = running.then(() => (stopped ? undefined : look(isPoll)))
    return running
  }

  function lookSoon(): void {
    if (stopped || soon) return
    soon = setTimeout(() => {
      soon = undefined
      void run(false)
    }, SETTLE_MILLISECONDS)
  }

  function schedulePoll(delay: number): void {
    poll = setTimeout(() => {
      const began = performance.now()
      void run(true).finally(() => {
        // A directory that takes long to look at is looked at less often.
        if (!stopped) schedulePoll(Math.max(pollMilliseconds, 5 * (performance.now() - began)))
      })
    }, delay)
  }
  schedulePoll(pollMilliseconds)

  return {
    watchFolders(folders) {
      const wanted = new Set(folders)
      for (const [folder, { watcher, inode }] of watchers) {
        if (wanted.has(folder) && inodeOf(folder) === inode) continue
        watcher.close()
        watchers.delete(folder)
      }
      for (const folder of wanted) {
        if (!watchers.has(folder)) open(folder)
      }
    },
    lookSoon,
    async stop() {
      stopped = true
      clearTimeout(soon)
      clearTimeout(poll)
      for (const { watcher } of watchers.values()) watcher.close()
      watchers.clear()
      await running
    },
  }

  function open(folder: string): void {
    const inode = inodeOf(folder)
    if (inode === undefined) return
    try {
      const watcher = watch(folder, () => lookSoon())
      // Out of watches, or the folder went: the poll sees all the same.
      watcher.on('error', () => {
        watcher.close()
        watchers.delete(folder)
      })
      watchers.set(folder, { watcher, inode })
    } catch {
      // As above; tried again at the next look.
    }
  }
}

function inodeOf(folder: string): bigint | undefined {
  return statSync(folder, { bigint: true, throwIfNoEntry: false })?.ino
}
