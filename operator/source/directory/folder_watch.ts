import { statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'

export interface FolderWatch {
  /** Replaces the folders to watch. */
  setFolders(folders: string[]): void
  scanSoon(): void
  /** Resolves when no scan runs any more; none starts afterwards. */
  stop(): Promise<void>
}

export interface FolderWatchOptions {
  /** Runs one scan; never two at a time. `poll` is true for a scan that the timer starts. Must not reject. */
  scan: (poll: boolean) => Promise<void>
  pollMilliseconds: number
}

// Joins the several writes of an editor into one scan.
const SETTLE_MILLISECONDS = 60

/**
 * Scans when a watched folder changes, and at every poll. Each folder has its own watch: a recursive watch of Linux
 * loses a file after an atomic rename over it.
 */
export function watchFolders({ scan, pollMilliseconds }: FolderWatchOptions): FolderWatch {
  const watchers = new Map<string, { watcher: FSWatcher; inode: bigint }>()
  let running: Promise<void> = Promise.resolve()
  let stopped = false
  let soon: NodeJS.Timeout | undefined
  let poll: NodeJS.Timeout | undefined

  function run(isPoll: boolean): Promise<void> {
    running = running.then(() => (stopped ? undefined : scan(isPoll)))
    return running
  }

  function scanSoon(): void {
    if (stopped || soon) return
    soon = setTimeout(() => {
      soon = undefined
      void run(false)
    }, SETTLE_MILLISECONDS)
  }

  function schedulePoll(delay: number): void {
    poll = setTimeout(() => {
      const start = performance.now()
      void run(true).finally(() => {
        // A directory whose scan takes long is polled less often.
        if (!stopped) schedulePoll(Math.max(pollMilliseconds, 5 * (performance.now() - start)))
      })
    }, delay)
  }

  function open(folder: string): void {
    const inode = inodeOf(folder)
    if (inode === undefined) return
    try {
      const watcher = watch(folder, () => scanSoon())
      // No watches are left, or the folder is gone. Polls go on, and the next scan tries again.
      watcher.on('error', () => {
        watcher.close()
        watchers.delete(folder)
      })
      watchers.set(folder, { watcher, inode })
    } catch {
      // Same as above.
    }
  }

  schedulePoll(pollMilliseconds)
  return {
    setFolders(folders) {
      const wanted = new Set(folders)
      for (const [folder, { watcher, inode }] of watchers) {
        if (wanted.has(folder) && inodeOf(folder) === inode) continue
        watcher.close()
        watchers.delete(folder)
      }
      for (const folder of wanted) if (!watchers.has(folder)) open(folder)
    },
    scanSoon,
    async stop() {
      stopped = true
      clearTimeout(soon)
      clearTimeout(poll)
      for (const { watcher } of watchers.values()) watcher.close()
      watchers.clear()
      await running
    },
  }
}

function inodeOf(folder: string): bigint | undefined {
  return statSync(folder, { bigint: true, throwIfNoEntry: false })?.ino
}
