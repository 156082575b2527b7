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
import { isObject } from '../../../crds/validation/defaulting.ts'
import { PlainError } from '../../../process/plain_error.ts'
import { replaceFile } from './atomic_file.ts'
import { errorCode } from './error_code.ts'
import { heldKey } from './held_object.ts'
import type { Held } from './held_object.ts'

/**
 * The state file: a header, then one line for each change, the last one of a key counts. Appending keeps a status write
 * small, a line cut off by a crash is known by its missing end, and rewriting it (atomically) drops what is outdated.
 * It is written by one process; others may read it at any time.
 */
export interface StateFile {
  /** Random; another one means that all uids and generations began anew. */
  identity: string
  /** The present state. Changed by `write` only. */
  held: ReadonlyMap<string, Held>
  /** Takes changes over in one piece: on disk when `durable`, else at least safe from the end of this process. */
  write(changes: Change[], options?: { durable?: boolean }): void
  close(): void
}

export type Change = { put: Held } | { gone: string }

/** The state directory cannot be used as it is; the message says what to do. */
export class StateError extends PlainError {
  override readonly name = 'StateError'
}

const FORMAT = 'realmkeeper-directory-state'
const VERSION = 1
const COMPACT_AT_BYTES = 8 * 1024 * 1024

/** Where the state file lies in a state directory. */
export function stateFilePath(stateDir: string): string {
  return join(stateDir, 'objects.jsonl')
}

/** The state as of now, for a reader beside the process that writes it; undefined when there is none yet. */
export function readState(stateDir: string): { identity: string; held: Map<string, Held> } | undefined {
  let text: string
  try {
    text = readFileSync(stateFilePath(stateDir), 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw new StateError(`${stateFilePath(stateDir)} cannot be read (${errorCode(error)})`, {
      cause: error,
    })
  }
  return parseState(text, stateFilePath(stateDir))
}

/** Opens the state file for writing, or begins one; `restored` is applied to all that is in it. Throws StateError. */
export function openState(stateDir: string, randomUid: () => string, restored: (held: Held) => Held): StateFile {
  const path = stateFilePath(stateDir)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const { identity, held, resourceVersion: last } = readStateOrBegin(stateDir, randomUid)
  for (const [key, object] of held) held.set(key, restored(object))
  let resourceVersion = last
  let descriptor = -1
  let size = 0

  /** Rewrites the file with what counts. A crash leaves the former one. */
  function compact(): void {
    const lines = [JSON.stringify({ format: FORMAT, version: VERSION, identity, resourceVersion })]
    for (const object of held.values()) lines.push(JSON.stringify({ put: object }))
    replaceFile(path, `${lines.join('\n')}\n`, { mode: 0o600 })
    // The former descriptor is of the file that was replaced; what is appended there is lost.
    if (descriptor >= 0) closeSync(descriptor)
    descriptor = -1
    descriptor = openSync(path, 'a', 0o600)
    size = fstatSync(descriptor).size
    nextCompaction = 2 * size + COMPACT_AT_BYTES
  }

  /** The changes are safe already; without room for a second file the first one goes on growing for a while. */
  function compactOrLater(): void {
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
    held,
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
        if ('gone' in change) held.delete(change.gone)
        else held.set(heldKey(change.put), change.put)
      }
      if (size > nextCompaction) compactOrLater()
    },
    close() {
      if (descriptor >= 0) closeSync(descriptor)
      descriptor = -1
    },
  }
}

/** All of it or nothing: what was written of a failed append (disk full) is cut off again. */
function append(descriptor: number, bytes: Buffer, path: string): void {
  const { size } = fstatSync(descriptor)
  try {
    for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written)
  } catch (error) {
    ftruncateSync(descriptor, size)
    throw new StateError(`${path} cannot be written (${errorCode(error)})`, { cause: error })
  }
}

type State = { identity: string; held: Map<string, Held>; resourceVersion: number }

function readStateOrBegin(stateDir: string, randomUid: () => string): State {
  const path = stateFilePath(stateDir)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { identity: randomUid(), held: new Map(), resourceVersion: 0 }
    throw new StateError(`${path} cannot be read (${errorCode(error)})`, { cause: error })
  }
  return parseState(text, path)
}

function parseState(text: string, path: string): State {
  const lines = text.split('\n')
  // What follows the last line end was being written when the process ended: nobody was told of it.
  lines.pop()
  const header = parseLine(lines[0], path, 1)
  if (header['format'] !== FORMAT) throw damaged(path, 1)
  if (header['version'] !== VERSION) {
    throw new StateError(
      `${path} has format version ${String(header['version'])}, this realmkeeper writes version ${VERSION}: ` +
        'use the version that wrote it, or move the state directory away to begin anew (new uids, no sessions, no decisions)',
    )
  }
  if (typeof header['identity'] !== 'string') throw damaged(path, 1)

  const state: State = {
    identity: header['identity'],
    held: new Map(),
    resourceVersion: Number(header['resourceVersion']) || 0,
  }
  for (let index = 1; index < lines.length; index++) {
    const change = parseLine(lines[index], path, index + 1) as Partial<{ put: Held; gone: string }>
    if (change.put) {
      state.held.set(heldKey(change.put), change.put)
      if ('resourceVersion' in change.put)
        state.resourceVersion = Math.max(state.resourceVersion, change.put.resourceVersion)
    } else if (typeof change.gone === 'string') state.held.delete(change.gone)
    else throw damaged(path, index + 1)
  }
  return state
}

function parseLine(line: string | undefined, path: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line ?? '')
    if (isObject(value)) return value
  } catch {
    // said below
  }
  throw damaged(path, number)
}

function damaged(path: string, line: number): StateError {
  return new StateError(
    `${path}:${line} is damaged: restore it from a backup, or move the state directory away to begin anew ` +
      '(new uids, no sessions, no decisions)',
  )
}
