import { setTimeout as sleep } from 'node:timers/promises'

/** Runs `work` every `millis`, one run at a time, and prints what fails. Returns a function that ends it. */
export function repeat(
  work: () => Promise<void>,
  { millis, print }: { millis: number; print: (line: string) => void },
): () => Promise<void> {
  const stopped = new AbortController()
  const { signal } = stopped
  async function run(): Promise<void> {
    while (!signal.aborted) {
      await work().catch((error: unknown) => print(error instanceof Error ? error.message : String(error)))
      await sleep(millis, undefined, { signal }).catch(() => undefined)
    }
  }

  const running = run()
  return async () => {
    stopped.abort()
    await running
  }
}
