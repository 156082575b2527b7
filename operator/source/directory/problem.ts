import { join } from 'node:path'
import { printable } from '../../../process/printable.ts'

/** What is wrong at a place inside one document. Messages never repeat a value of a Secret. */
export interface FieldProblem {
  path: (string | number)[]
  message: string
}

/** Something in the directory that could not be taken over; what was held before it stays held. */
export interface Problem {
  /** The file, as a reader would open it. */
  file: string
  /** Counted from 1; absent when the file as a whole is meant. */
  line?: number
  column?: number
  /** Like `User default/alice`, when the document names one. */
  object?: string
  /** Like `spec.roles[0]`. */
  field?: string
  message: string
  /** True while it keeps objects that are in no file from being deleted. */
  holdsDeletions: boolean
}

/** One bounded line for a terminal or a log: `file:line:column: object: field: message`. File names are anybody's. */
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

/** A path below the watched directory as the reader of a message would type it. */
export function fileText(directory: string, relativePath: string): string {
  return relativePath === '' ? directory : join(directory, relativePath)
}
