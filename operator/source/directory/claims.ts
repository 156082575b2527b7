import { positionOf } from './documents.ts'
import type { ManifestDocument } from './documents.ts'
import type { FolderReading, ManifestFile } from './folder.ts'
import { heldKey } from './held_object.ts'
import { manifestOf } from './manifest.ts'
import type { Manifest, NamespaceManifest, ResourceManifest, SecretManifest, UnusableManifest } from './manifest.ts'
import { fieldText, fileText } from './problem.ts'
import type { FieldProblem, Problem } from './problem.ts'

/** One document that claims to be an object. An unusable one still says that the object is not gone. */
export interface Claim {
  file: ManifestFile
  document: ManifestDocument
  manifest: ResourceManifest | SecretManifest | NamespaceManifest | UnusableManifest
}

export interface Claims {
  byKey: ReadonlyMap<string, Claim>
  problems: Problem[]
}

/** What the files of a directory say, one claim for each object: of two, the first by path, then by place, wins. */
export function claimsOf(directory: string, reading: Pick<FolderReading, 'files' | 'problems'>): Claims {
  const byKey = new Map<string, Claim>()
  const problems: Problem[] = []
  for (const { path, message } of reading.problems) {
    problems.push({ file: fileText(directory, path), message: `${message}; what it held stays`, holdsDeletions: true })
  }

  for (const file of reading.files) {
    for (const problem of file.problems) {
      const { line, column, message } = problem
      const place = line === undefined ? {} : { line, column: column ?? 1 }
      const kept = `${message}; its last good state stays and nothing is deleted until it is repaired`
      problems.push({ file: fileText(directory, file.path), ...place, message: kept, holdsDeletions: true })
    }
    for (const document of file.documents) {
      const manifest = knownManifest(document.value)
      if (manifest.type === 'ignored') continue
      const claim = { file, document, manifest }
      const object = manifest.type === 'unusable' ? manifest.object : manifest
      if (manifest.type === 'unusable' && !object) {
        // Not knowing which object it is, any that is missing may be it.
        problems.push(...problemsAt(directory, claim, manifest.problems, true))
      }
      if (!object) continue
      const key = heldKey(object)
      const winner = byKey.get(key)
      if (winner) problems.push(...duplicate(directory, winner, claim))
      else byKey.set(key, claim)
    }
  }
  return { byKey, problems }
}

/** Problems of a document's fields with their places in its file. */
export function problemsAt(directory: string, claim: Claim, found: FieldProblem[], holdsDeletions = false): Problem[] {
  const { file, document, manifest } = claim
  const named = manifest.type === 'unusable' ? manifest.object : manifest
  const object = named && `${named.kind} ${named.namespace === '' ? '' : `${named.namespace}/`}${named.name}`
  return found.map(({ path, message }) => ({
    file: fileText(directory, file.path),
    ...positionOf(file.text, document, path),
    ...(object && { object }),
    ...(path.length > 0 && { field: fieldText(path) }),
    message,
    holdsDeletions,
  }))
}

function duplicate(directory: string, winner: Claim, loser: Claim): Problem[] {
  const place = `${fileText(directory, winner.file.path)}:${positionOf(winner.file.text, winner.document, ['metadata', 'name']).line}`
  const message = `is in two places; the one at ${place} counts, remove one of them`
  return problemsAt(directory, loser, [{ path: ['metadata', 'name'], message }])
}

const manifests = new WeakMap<ManifestDocument['value'], Manifest>()

function knownManifest(value: ManifestDocument['value']): Manifest {
  const manifest = manifests.get(value) ?? manifestOf(value)
  manifests.set(value, manifest)
  return manifest
}
