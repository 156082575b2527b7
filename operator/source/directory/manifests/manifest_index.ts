import { keyText } from '../../resource.ts'
import { positionOf } from './documents.ts'
import type { ManifestDocument } from './documents.ts'
import { readManifest } from './manifest.ts'
import type { Manifest, NamespaceManifest, ResourceManifest, SecretManifest, UnusableManifest } from './manifest.ts'
import type { FilesReading, ManifestFile } from './manifest_files.ts'
import { fieldText, fileText } from './problem.ts'
import type { FieldProblem, Problem } from './problem.ts'

/** One document with its file. An unusable manifest still shows that its object is not deleted. */
export interface ManifestEntry {
  file: ManifestFile
  document: ManifestDocument
  manifest: ResourceManifest | SecretManifest | NamespaceManifest | UnusableManifest
}

export interface ManifestIndex {
  /** By `keyText` of the object. */
  entries: ReadonlyMap<string, ManifestEntry>
  problems: Problem[]
}

/** Indexes the documents of all files by object. Of two with the same object, the first by path and place counts. */
export function indexManifests(directory: string, reading: Pick<FilesReading, 'files' | 'problems'>): ManifestIndex {
  const entries = new Map<string, ManifestEntry>()
  const problems: Problem[] = []
  for (const { path, message } of reading.problems) {
    problems.push({ file: fileText(directory, path), message: `${message}; what it held stays`, blocksDeletion: true })
  }

  for (const file of reading.files) {
    for (const { line, column = 1, message } of file.problems) {
      problems.push({
        file: fileText(directory, file.path),
        ...(line !== undefined && { line, column }),
        message: `${message}; its last good state stays and nothing is deleted until it is repaired`,
        blocksDeletion: true,
      })
    }
    for (const document of file.documents) {
      const manifest = cachedManifest(document.value)
      if (manifest.type === 'ignored') continue
      const entry = { file, document, manifest }
      const object = manifest.type === 'unusable' ? manifest.object : manifest
      if (!object) {
        // The document may be any of the objects that are missing.
        if (manifest.type === 'unusable') problems.push(...problemsAt(directory, entry, manifest.problems, true))
        continue
      }
      const key = keyText(object)
      const first = entries.get(key)
      if (first) problems.push(...duplicate(directory, first, entry))
      else entries.set(key, entry)
    }
  }
  return { entries, problems }
}

/** Problems of a document's fields with their places in its file. */
export function problemsAt(
  directory: string,
  { file, document, manifest }: ManifestEntry,
  found: FieldProblem[],
  blocksDeletion = false,
): Problem[] {
  const named = manifest.type === 'unusable' ? manifest.object : manifest
  const object = named && `${named.kind} ${named.namespace === '' ? '' : `${named.namespace}/`}${named.name}`
  return found.map(({ path, message }) => ({
    file: fileText(directory, file.path),
    ...positionOf(file.text, document, path),
    ...(object && { object }),
    ...(path.length > 0 && { field: fieldText(path) }),
    message,
    blocksDeletion,
  }))
}

function duplicate(directory: string, { file, document }: ManifestEntry, second: ManifestEntry): Problem[] {
  const path = ['metadata', 'name']
  const place = `${fileText(directory, file.path)}:${positionOf(file.text, document, path).line}`
  return problemsAt(directory, second, [
    { path, message: `is in two places; the one at ${place} counts, remove one of them` },
  ])
}

const manifests = new WeakMap<ManifestDocument['value'], Manifest>()

function cachedManifest(value: ManifestDocument['value']): Manifest {
  const manifest = manifests.get(value) ?? readManifest(value)
  manifests.set(value, manifest)
  return manifest
}
