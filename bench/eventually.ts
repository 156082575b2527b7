/** Waits for a condition. Resolves with the seconds that it took; rejects after `seconds`. */
export async function eventually(
  condition: () => Promise<boolean>,
  { seconds, everyMillis = 50 }: { seconds: number; everyMillis?: number },
): Promise<number> {
  const started = performance.now()
  while (!(await condition())) {
    if (performance.now() > started + seconds * 1000)
      throw new Error(`not within ${seconds} s: ${condition.toString()}`)
    await sleep(everyMillis)
  }
  return (performance.now() - started) / 1000
}

export function sleep(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis))
}
