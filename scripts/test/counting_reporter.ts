import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'

export interface Counts {
  passed: number
  failed: number
  skipped: number
}

/**
 * Counts a test run. A module that does not load and a hook that fails count as one failure each, because vitest reports
 * their tests as skipped. A run without tests is a failure.
 */
export function countingReporter(): { reporter: Reporter; counts: Counts; skippedTests: string[] } {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  const skippedTests: string[] = []

  function countTest(test: TestCase): void {
    const { state } = test.result()
    if (state === 'passed') counts.passed++
    else if (state === 'skipped') {
      counts.skipped++
      skippedTests.push(`${test.module.relativeModuleId} > ${test.fullName}`)
    } else counts.failed++
  }

  function countSuite(suite: TestSuite | TestModule): void {
    if (suite.errors().length > 0) counts.failed++
  }

  const reporter: Reporter = {
    onTestRunEnd(modules, unhandledErrors, reason) {
      for (const module of modules) {
        countSuite(module)
        for (const suite of module.children.allSuites()) countSuite(suite)
        for (const test of module.children.allTests()) countTest(test)
      }
      counts.failed += unhandledErrors.length
      if (reason !== 'passed' && counts.failed === 0) counts.failed++
      if (counts.passed + counts.failed === 0) counts.failed++
    },
  }
  return { reporter, counts, skippedTests }
}

/** The last line of a run: `12 passed, 0 failed`, with `, 3 skipped` when there are any. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
