// npm test: runs vitest, whose options it takes, and ends with one line that counts everything.
import { parseCLI, startVitest } from 'vitest/node'
import { closingLine, countingReporter } from './test/counting_reporter.ts'

/** Runs the tests that vitest's own arguments name; returns how many failed. */
async function runTests(args: string[]): Promise<number> {
  const { filter, options } = parseCLI(['vitest', 'run', ...args])
  const { reporter, counts, skippedTests } = countingReporter()

  try {
    const vitest = await startVitest('test', filter, { ...options, watch: false, reporters: ['default', reporter] })
    await vitest.close()
    // What fails when everything is taken down again, the look for secrets in logs among it, fails the run.
    if (process.exitCode && counts.failed === 0) counts.failed++
  } catch (error) {
    console.error(error)
    counts.failed++
  }

  for (const name of skippedTests) console.log(`skipped: ${name}`)
  console.log(closingLine(counts))
  return counts.failed
}

if (import.meta.main) process.exit((await runTests(process.argv.slice(2))) > 0 ? 1 : 0)
