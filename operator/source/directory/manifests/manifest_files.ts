import { closeSync, constants, fstatSync, openSync, readFileSync, readdirSync, statSync } from 'node:fs'
import type { BigIntStats, Dirent } from 'node:fs'
import { join } from 'node:path'
import { parseDocuments } from './documents.ts'
import type { ManifestDocument, Position } from './documents.ts'
import { errorCode } from '../../../../process/loggable.ts'

/** A manifest file. While it has problems, `text` and `documents` are those of its last good state. */
export interface ManifestFile {
  /** Relative to the directory, with `/`. */
  path: string
  text: string
  documents: ManifestDocument[]
  problems: (Partial<Position> & { message: string })[]
}

export interface FilesReading {
  /** In the order of their paths, which decides between two files with the same object. */
  files: ManifestFile[]
  /** Every folder to watch, the directory itself (an empty path) first. */
  folders: string[]
  /** Folders that cannot be listed, and files that cannot be found. */
  problems: { path: string; message: string }[]
  /** True when anything differs from the reading before. */
  changed: boolean
  /** True while a file is being written; a later reading has it. */
  unsettled: boolean
}

const MAX_FILE_BYTES = 64 * 1024 * 1024
const SETTLED_MILLISECONDS = 40
const MAX_UNSETTLED_READINGS = 8

interface KnownFile {
  /** Size, times and inode at the last reading; the file is opened only when these change. */
  stamp?: string
  /** A new stamp, and since when it is the same: a file is read once it is stable, not half-written. */
  candidate?: { stamp: string; since: number }
  unsettledReadings: number
  file?: ManifestFile
  /** Parsed values by digest of their text. */
  values: Map<string, ManifestDocument['value'][]>
}

/** Reads the manifest files below a directory, again at each call. The first reading does not wait for stable files. */
export function manifestFiles(directory: string): { read(): Promise<FilesReading> } {
  let known = new Map<string, KnownFile>()
  let first = true
  let problemsBefore = '[]'

  async function readIfChanged(path: string, stamp: string, entry: KnownFile, reading: FilesReading): Promise<void> {
    if (entry.stamp === stamp) {
      delete entry.candidate
      entry.unsettledReadings = 0
      return
    }
    if (entry.candidate?.stamp !== stamp) entry.candidate = { stamp, since: performance.now() }
    const settled = performance.now() - entry.candidate.since >= SETTLED_MILLISECONDS
    if (!first && !settled && entry.unsettledReadings < MAX_UNSETTLED_READINGS) {
      entry.unsettledReadings++
      reading.unsettled = true
      return
    }
    entry.file = await readManifest(directory, path, entry)
    entry.stamp = stamp
    entry.unsettledReadings = 0
    reading.changed = true
  }

  /** Undefined for a file that is gone, and for one that is a problem, such as a link that leads to itself. */
  function statOf(path: string, problems: FilesReading['problems']): BigIntStats | undefined {
    try {
      return statSync(join(directory, path), { bigint: true, throwIfNoEntry: false })
    } catch (error) {
      problems.push({ path, message: `cannot be read (${errorCode(error)})` })
      return undefined
    }
  }

  return {
    async read() {
      const { paths, folders, problems } = listFiles(directory)
      const reading: FilesReading = { files: [], folders, problems, changed: first, unsettled: false }
      const present = new Map<string, KnownFile>()

      // All stats before any read: a reading that has the second of two written files also has the first.
      const stats = paths.map((path) => statOf(path, problems))
      for (const [index, path] of paths.entries()) {
        const stat = stats[index]
        if (!stat?.isFile()) continue
        const entry: KnownFile = known.get(path) ?? { unsettledReadings: 0, values: new Map() }
        await readIfChanged(path, stampOf(stat), entry, reading)
        present.set(path, entry)
        if (entry.file) reading.files.push(entry.file)
      }

      if ([...known.keys()].some((path) => !present.has(path))) reading.changed = true
      if (JSON.stringify(problems) !== problemsBefore) reading.changed = true
      problemsBefore = JSON.stringify(problems)
      known = present
      first = false
      return reading
    },
  }
}

function stampOf(stat: BigIntStats): string {
  return [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ')
}

async function readManifest(directory: string, path: string, entry: KnownFile): Promise<ManifestFile> {
  const before = { path, text: entry.file?.text ?? '', documents: entry.file?.documents ?? [] }
  const content = readText(join(directory, path))
  if (content.problem !== undefined) return { ...before, problems: [{ message: content.problem }] }

  const parsed = await parseDocuments(content.text, entry.values)
  if (parsed.problems.length > 0) return { ...before, problems: parsed.problems }
  return { path, text: content.text, documents: parsed.documents, problems: [] }
}

/** The exact text of a manifest file, or why it cannot be read. */
export function readText(file: string): { text: string; problem?: undefined } | { problem: string } {
  let descriptor: number | undefined
  try {
    // Without waiting for the other end of a pipe that has taken the place of the file meanwhile.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(descriptor)
    if (!stat.isFile()) return { problem: 'not a regular file' }
    if (stat.size > MAX_FILE_BYTES) return { problem: `over ${MAX_FILE_BYTES >> 20} MiB; split it` }
    // Files of the system have no size; they may have no end, or one that the reader waits for.
    const bytes = stat.size === 0 ? Buffer.alloc(0) : readFileSync(descriptor)
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch (error) {
    if (error instanceof TypeError) return { problem: 'not UTF-8 text; save it as UTF-8' }
    return { problem: `cannot be read (${errorCode(error)})` }
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** Manifest files and folders below a directory, without hidden entries. Does not follow links to folders. */
export function listFiles(directory: string): {
  paths: string[]
  folders: string[]
  problems: FilesReading['problems']
} {
  const found = { paths: [] as string[], folders: [] as string[], problems: [] as FilesReading['problems'] }
  const open = ['']
  for (let folder = open.shift(); folder !== undefined; folder = open.shift()) {
    let entries: Dirent[]
    try {
      entries = readdirSync(join(directory, folder), { withFileTypes: true })
    } catch (error) {
      const code = errorCode(error)
      // The folder was removed between two calls. The directory itself never counts as empty.
      if (folder !== '' && code === 'ENOENT') continue
      found.problems.push({ path: folder, message: `cannot be listed (${code})` })
      continue
    }
    found.folders.push(folder)
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) open.push(path)
      else if (/\.(ya?ml|json)$/i.test(entry.name) && (entry.isFile() || entry.isSymbolicLink())) found.paths.push(path)
    }
  }
  found.paths.sort((a, b) => (a < b ? -1 : 1))
  return found
}
