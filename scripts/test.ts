// npm test, test:cluster, test:soak: runs vitest with its own arguments, searches every log of the run for secrets, and
// ends with one line that counts everything. The projects are in vitest.config.ts.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseCLI, startVitest } from 'vitest/node'
import { closingLine, countingReporter } from './test/counting_reporter.ts'
import type { Counts } from './test/counting_reporter.ts'
import { findingsLine, findLeaks, LOGS_VARIABLE } from './test/find_leaks.ts'

/** Returns the number of failures. */
async function runTests(args: string[]): Promise<number> {
  const {
    filter,
    options: { reporter: chosen = ['default'], ...options },
  } = parseCLI(['vitest', 'run', ...args])
  const { reporter, counts, skippedTests } = countingReporter()
  const logs = await mkdtemp(join(tmpdir(), 'realmkeeper-test-logs-'))
  // Workers and their child processes inherit it.
  process.env[LOGS_VARIABLE] = logs

  try {
    const vitest = await startVitest('test', filter, { ...options, watch: false, reporters: [chosen, reporter].flat() })
    await vitest.close()
    // A global teardown that fails sets the exit code only.
    if (process.exitCode && counts.failed === 0) counts.failed++
  } catch (error) {
    console.error(error)
    counts.failed++
  }

  await countLeaks(logs, counts)
  for (const name of skippedTests) console.log(`skipped: ${name}`)
  console.log(closingLine(counts))
  return counts.failed
}

/** Counts one more test when the run has recorded secrets: none of them is in any log. */
async function countLeaks(logs: string, counts: Counts): Promise<void> {
  const findings = await findLeaks(logs)
  if (findings.secrets > 0) console.log(findingsLine(findings))
  if (findings.leaks.length > 0) {
    counts.failed++
    console.log(`${findings.leaks.join('\n')}\nThe logs are kept in ${logs}`)
    return
  }
  if (findings.secrets > 0) counts.passed++
  await rm(logs, { recursive: true, force: true })
}

if (import.meta.main) process.exit((await runTests(process.argv.slice(2))) > 0 ? 1 : 0)
