import type { Problem } from './problem.ts'

export interface ProblemReports {
  /** Replaces the list; what was not in it before is reported. */
  update(problems: Problem[]): void
  /** Adds one to the list until the next update. */
  add(problem: Problem): void
  present(): Problem[]
}

/** Tells of each problem once for as long as it is there. */
export function problemReports(report: (problem: Problem) => void): ProblemReports {
  let present: Problem[] = []
  let reported = new Set<string>()

  function update(problems: Problem[]): void {
    const before = reported
    present = problems
    reported = new Set(problems.map(identity))
    for (const problem of problems) if (!before.has(identity(problem))) report(problem)
  }

  return { update, add: (problem) => update([...present, problem]), present: () => present }
}

/** Without line and column: a problem that only moves within its file is the same one. */
function identity({ file, object, field, message, line }: Problem): string {
  return JSON.stringify([file, object, field, message, ...(object ? [] : [line])])
}
