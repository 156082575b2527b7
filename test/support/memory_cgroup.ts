import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'

/** A memory limit for one process, as the container of the chart has it. */
export interface MemoryCgroup {
  /** Starts a command inside, see PartOptions. Empty where this machine offers no cgroup. */
  within: string[]
  /** For the output of a test. */
  description: string
  /** Call it after the process has ended. */
  remove(): void
}

/** The limit of both Deployments in charts/realmkeeper/values.yaml. */
export const LIMIT_MEBIBYTES = 512

let created = 0

/**
 * A cgroup of the version 1 below that of this process, which needs root. `process.constrainedMemory()` reads its limit, so
 * the process sizes itself as in the container.
 */
export function memoryCgroup(): MemoryCgroup {
  try {
    const path = /^\d+:memory:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
    if (path === undefined) throw new Error('there is no memory controller of version 1')
    const folder = `/sys/fs/cgroup/memory${path}/realmkeeper-test-${process.pid}-${++created}`
    mkdirSync(folder)
    writeFileSync(`${folder}/memory.limit_in_bytes`, String(LIMIT_MEBIBYTES * 2 ** 20))
    return {
      within: ['sh', '-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', folder],
      description: `in a cgroup with ${LIMIT_MEBIBYTES} MiB`,
      remove: () => rmdirSync(folder),
    }
  } catch (error) {
    return {
      within: [],
      description: `WITHOUT a memory limit (${String(error)}): only the resident memory is sampled`,
      remove: () => {},
    }
  }
}
