import type { Kind } from '../resource.ts'
import type { FieldProblem } from './problem.ts'

/** The schema and the CEL rules of a kind, as an API server applies them to an object that is written. */
export interface SchemaChecks {
  /** The object with its defaults, and what is wrong with it. */
  defaultAndValidate(kind: Kind, object: unknown): { value: Record<string, unknown>; problems: FieldProblem[] }
  /** Expects a valid object; with an old object, transition rules are applied as well. */
  evaluateRules(kind: Kind, object: unknown, oldObject?: unknown): { problems: FieldProblem[] }
}

/** The checks, and what a new object gets: time and a random uid. */
export interface Admission extends SchemaChecks {
  now(): Date
  randomUid(): string
}
