import { KINDS } from '../../operator/source/resource.ts'
import { isHeldObject } from '../../operator/source/directory/held_object.ts'
import type { Held, HeldObject } from '../../operator/source/directory/held_object.ts'

/** Beyond this many resources only those that are not ready get a row of their own. */
const MOST_ROWS = 30

/** What is ready, and what waits and why, one line each. */
export function readyTable(held: Iterable<Held>): string[] {
  const objects = [...held].filter(isHeldObject).toSorted(byKindAndName)
  const rows = objects.flatMap(rowsOf)
  const shown = rows.length > MOST_ROWS ? rows.filter(([, state]) => state !== 'ready').slice(0, MOST_ROWS) : rows
  const lines = columns([['RESOURCE', '', ''], ...shown]).map((line) => line.trimEnd())
  if (shown.length < rows.length) {
    lines.push(
      `… and ${rows.length - shown.length} more, ${rows.filter(([, state]) => state === 'ready').length} of all ready`,
    )
  }
  return lines
}

type Row = [name: string, state: 'ready' | 'waits' | '', why: string]

function rowsOf(object: HeldObject): Row[] {
  const rows: Row[] = [rowOf(`${object.kind.toLowerCase()}/${object.name}`, readyOf(object))]
  // A realm serves without it, so it is no part of Ready.
  const encryption = object.status?.conditions?.find(({ type }) => type === 'FieldEncryptionReady')
  if (object.kind === 'Realm' && hasFields(object.spec)) rows.push(rowOf('  its field encryption', encryption))
  return rows
}

function rowOf(name: string, condition: { status: string; reason: string; message: string } | undefined): Row {
  if (!condition) return [name, 'waits', 'not looked at yet']
  if (condition.status === 'True') return [name, 'ready', condition.message]
  return [name, 'waits', condition.message || condition.reason]
}

function readyOf({ generation, status }: HeldObject) {
  return status?.conditions?.find(
    ({ type, observedGeneration }) =>
      type === 'Ready' && (observedGeneration ?? status.observedGeneration) === generation,
  )
}

function hasFields(spec: unknown): boolean {
  return typeof spec === 'object' && spec !== null && 'fieldEncryption' in spec
}

function byKindAndName(one: HeldObject, other: HeldObject): number {
  const byKind = KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind)
  return byKind || one.namespace.localeCompare(other.namespace) || one.name.localeCompare(other.name)
}

/** Rows with their cells one below the other. */
export function columns(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
