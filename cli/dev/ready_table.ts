import { setTimeout as sleep } from 'node:timers/promises'
import { KINDS } from '../../operator/source/resource.ts'
import { isStoredResource } from '../../operator/source/directory/state/stored_object.ts'
import type { StoredObject, StoredResource } from '../../operator/source/directory/state/stored_object.ts'

/** Above this number of rows, the table lists only resources that are not ready. */
const MOST_ROWS = 30

const CHECK_MILLIS = 100
const QUIET_MILLIS = 1_200
const LONGEST_WAIT_MILLIS = 6_000

/** One line for each resource: ready, or waits and why. */
export function readyTable(stored: Iterable<StoredObject>): string[] {
  const objects = [...stored].filter(isStoredResource).toSorted(byKindAndName)
  const rows = objects.flatMap(rowsOf)
  const shown = rows.length > MOST_ROWS ? rows.filter(([, state]) => state !== 'ready').slice(0, MOST_ROWS) : rows
  const lines = columns([['RESOURCE', '', ''], ...shown]).map((line) => line.trimEnd())
  if (shown.length < rows.length) {
    lines.push(
      `… and ${rows.length - shown.length} more; ${rows.filter(([, state]) => state === 'ready').length} in all are ready`,
    )
  }
  return lines
}

/** The table once it has not changed for a while. Waits a few seconds at most: a resource that still waits says why. */
export async function untilSettled(table: () => string[], signal: AbortSignal): Promise<string[]> {
  const began = performance.now()
  let changed = began
  for (let last = table(); ;) {
    await sleep(CHECK_MILLIS, undefined, { signal })
    const current = table()
    const now = performance.now()
    if (current.join('\n') !== last.join('\n')) changed = now
    if (now - changed > QUIET_MILLIS || now - began > LONGEST_WAIT_MILLIS) return current
    last = current
  }
}

type Row = [name: string, state: 'ready' | 'waits' | '', why: string]

function rowsOf(object: StoredResource): Row[] {
  const rows: Row[] = [rowOf(`${object.kind.toLowerCase()}/${object.name}`, readyOf(object))]
  // Ready does not include it: a realm works without it.
  const encryption = object.status?.conditions?.find(({ type }) => type === 'FieldEncryptionReady')
  if (object.kind === 'Realm' && hasFields(object.spec)) rows.push(rowOf('  its field encryption', encryption))
  return rows
}

function rowOf(name: string, condition: { status: string; reason: string; message: string } | undefined): Row {
  if (!condition) return [name, 'waits', 'not reconciled yet']
  if (condition.status === 'True') return [name, 'ready', condition.message]
  return [name, 'waits', condition.message || condition.reason]
}

function readyOf({ generation, status }: StoredResource) {
  return status?.conditions?.find(
    ({ type, observedGeneration }) =>
      type === 'Ready' && (observedGeneration ?? status.observedGeneration) === generation,
  )
}

function hasFields(spec: unknown): boolean {
  return typeof spec === 'object' && spec !== null && 'fieldEncryption' in spec
}

function byKindAndName(one: StoredResource, other: StoredResource): number {
  const byKind = KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind)
  return byKind || one.namespace.localeCompare(other.namespace) || one.name.localeCompare(other.name)
}

/** Rows as lines whose cells are aligned in columns. */
export function columns(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
