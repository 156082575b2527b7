import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../../crds/validation/defaulting.ts'
import { PlainError } from '../../../../process/plain_error.ts'
import { replaceFile } from './atomic_file.ts'
import { errorCode } from '../../../../process/loggable.ts'
import { keyText } from '../../resource.ts'
import { withCurrentDefaults } from './stored_object.ts'
import type { StoredObject } from './stored_object.ts'

/**
 * The state file: a header, then one line per change; the last line of a key counts. Appending keeps a status write
 * small. A line without an end was cut off by a crash. Compaction rewrites the file atomically. One process writes it;
 * others may read it at any time.
 */
export interface StateFile {
  /** Random. A new state file has a new one, because its uids and generations start again. */
  identity: string
  /** By `keyText`. Only `write` changes it. */
  objects: ReadonlyMap<string, StoredObject>
  /** Writes all changes or none. They survive a crash of the machine when `durable`, else one of this process. */
  write(changes: Change[], options?: { durable?: boolean }): void
  close(): void
}

export type Change = { put: StoredObject } | { gone: string }

/** The state directory cannot be used; the message says what to do. */
export class StateError extends PlainError {
  override readonly name = 'StateError'
}

const FORMAT = 'realmkeeper-directory-state'
const VERSION = 1
const COMPACT_AT_BYTES = 8 * 1024 * 1024

function stateFilePath(stateDir: string): string {
  return join(stateDir, 'objects.jsonl')
}

export interface State {
  identity: string
  objects: Map<string, StoredObject>
  /** The highest that was ever assigned. */
  resourceVersion: number
}

/** The current state, also while another process writes it; undefined without a state file. Throws StateError. */
export function readState(stateDir: string): State | undefined {
  const path = stateFilePath(stateDir)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw new StateError(`${path} cannot be read (${errorCode(error)})`, { cause: error })
  }
  return parseState(text, path)
}

/** Opens the state file for writing, or creates it. Objects get the defaults of the current schema. Throws StateError. */
export function openState(stateDir: string, randomUid: () => string): StateFile {
  const path = stateFilePath(stateDir)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const state = readState(stateDir) ?? { identity: randomUid(), objects: new Map(), resourceVersion: 0 }
  const { identity, objects } = state
  for (const [key, object] of objects) objects.set(key, withCurrentDefaults(object))
  let { resourceVersion } = state
  let descriptor = -1
  let size = 0

  /** Rewrites the file with one line per object. A crash leaves the former file. */
  function compact(): void {
    const lines = [JSON.stringify({ format: FORMAT, version: VERSION, identity, resourceVersion })]
    for (const object of objects.values()) lines.push(JSON.stringify({ put: object }))
    replaceFile(path, `${lines.join('\n')}\n`, { mode: 0o600 })
    // The former descriptor is of the replaced file; an append to it would be lost.
    if (descriptor >= 0) closeSync(descriptor)
    descriptor = -1
    descriptor = openSync(path, 'a', 0o600)
    size = fstatSync(descriptor).size
    nextCompaction = 2 * size + COMPACT_AT_BYTES
  }

  /** The changes are in the file already: without disk space for a second file, the first one grows for a while. */
  function tryCompact(): void {
    try {
      compact()
    } catch (error) {
      if (descriptor < 0) throw new StateError(`${path} cannot be opened (${errorCode(error)})`, { cause: error })
      nextCompaction = size + COMPACT_AT_BYTES
    }
  }

  let nextCompaction = 0
  try {
    compact()
  } catch (error) {
    throw new StateError(`${path} cannot be written (${errorCode(error)})`, { cause: error })
  }

  return {
    identity,
    objects,
    write(changes, options = {}) {
      if (descriptor < 0) throw new StateError(`${path} is closed`)
      let text = ''
      const stamped = changes.map((change): Change => {
        if (!('put' in change) || !('resourceVersion' in change.put)) return change
        return { put: { ...change.put, resourceVersion: ++resourceVersion } }
      })
      for (const change of stamped) text += `${JSON.stringify(change)}\n`
      append(descriptor, Buffer.from(text), path)
      if (options.durable) fdatasyncSync(descriptor)
      size += Buffer.byteLength(text)

      for (const change of stamped) {
        if ('gone' in change) objects.delete(change.gone)
        else objects.set(keyText(change.put), change.put)
      }
      if (size > nextCompaction) tryCompact()
    },
    close() {
      if (descriptor >= 0) closeSync(descriptor)
      descriptor = -1
    },
  }
}

/** Appends all bytes or none: removes the part that a failed append (disk full) has written. */
function append(descriptor: number, bytes: Buffer, path: string): void {
  const { size } = fstatSync(descriptor)
  try {
    for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written)
  } catch (error) {
    ftruncateSync(descriptor, size)
    throw new StateError(`${path} cannot be written (${errorCode(error)})`, { cause: error })
  }
}

function parseState(text: string, path: string): State {
  const lines = text.split('\n')
  // The process ended while it wrote the text after the last line end; no caller relies on it.
  lines.pop()
  const header = parseLine(lines[0], path, 1)
  if (header['format'] !== FORMAT) throw damaged(path, 1)
  if (header['version'] !== VERSION) {
    throw new StateError(
      `${path} has format version ${String(header['version'])}, this realmkeeper writes version ${VERSION}: ` +
        'use the version that wrote it, or move the state directory away to start again (new uids, no sessions, no decisions)',
    )
  }
  if (typeof header['identity'] !== 'string') throw damaged(path, 1)

  const state: State = {
    identity: header['identity'],
    objects: new Map(),
    resourceVersion: Number(header['resourceVersion']) || 0,
  }
  for (let index = 1; index < lines.length; index++) {
    const change = parseLine(lines[index], path, index + 1) as Partial<{ put: StoredObject; gone: string }>
    if (change.put) {
      state.objects.set(keyText(change.put), change.put)
      if ('resourceVersion' in change.put)
        state.resourceVersion = Math.max(state.resourceVersion, change.put.resourceVersion)
    } else if (typeof change.gone === 'string') state.objects.delete(change.gone)
    else throw damaged(path, index + 1)
  }
  return state
}

function parseLine(line: string | undefined, path: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line ?? '')
    if (isObject(value)) return value
  } catch {
    // Reported below.
  }
  throw damaged(path, number)
}

function damaged(path: string, line: number): StateError {
  return new StateError(
    `${path}:${line} is damaged: restore it from a backup, or move the state directory away to start again ` +
      '(new uids, no sessions, no decisions)',
  )
}
