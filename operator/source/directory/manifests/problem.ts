import { join } from 'node:path'
import { printable } from '../../../../process/printable.ts'

/** A problem at a path inside one document. The message never repeats a value, which may be secret. */
export interface FieldProblem {
  path: (string | number)[]
  message: string
}

/** A problem of a file or folder, for people. The objects that it concerns keep their last good state. */
export interface Problem {
  /** The directory and the path below it, as a reader opens it. */
  file: string
  /** Counted from 1; absent when the problem is about the whole file. */
  line?: number
  column?: number
  /** Like `User default/alice`, when the document names an object. */
  object?: string
  /** Like `spec.roles[0]`. */
  field?: string
  message: string
  /** While true, the source deletes no object, because the file may hold the ones that are missing. */
  blocksDeletion: boolean
}

/** One bounded line: `file:line:column: object: field: message`. File names are untrusted, so they are escaped. */
export function problemText(problem: Problem): string {
  const place = [problem.file, problem.line, problem.column].filter((part) => part !== undefined).join(':')
  return printable([place, problem.object, problem.field, problem.message].filter(Boolean).join(': '), 2000)
}

/** `spec.roles[0].name`, as `kubectl explain` and the API server write paths. */
export function fieldText(path: readonly (string | number)[]): string {
  return path
    .map((part) => {
      if (typeof part === 'number') return `[${part}]`
      return /^[A-Za-z_][\w-]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`
    })
    .join('')
    .replace(/^\./, '')
}

/** A path below the watched directory as the reader of a message types it. */
export function fileText(directory: string, relativePath: string): string {
  return relativePath === '' ? directory : join(directory, relativePath)
}

export interface ProblemReports {
  /** Replaces the current problems and reports those that are new. */
  update(problems: Problem[]): void
  /** Adds one until the next update. */
  add(problem: Problem): void
  current(): Problem[]
}

/** Calls `report` once for each problem, and again when it returns after it was gone. */
export function problemReports(report: (problem: Problem) => void): ProblemReports {
  let current: Problem[] = []
  let reported = new Set<string>()

  function update(problems: Problem[]): void {
    const before = reported
    current = problems
    reported = new Set(problems.map(identity))
    for (const problem of problems) if (!before.has(identity(problem))) report(problem)
  }

  return { update, add: (problem) => update([...current, problem]), current: () => current }
}

/** Leaves out the place of an object: a problem that moves within its file stays the same. */
function identity({ file, object, field, message, line }: Problem): string {
  return JSON.stringify([file, object, field, message, ...(object ? [] : [line])])
}
