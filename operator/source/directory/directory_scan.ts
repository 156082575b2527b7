import { join } from 'node:path'
import type { Kind } from '../resource.ts'
import { keyText } from '../resource.ts'
import type { SecretName } from '../resource_source.ts'
import { applyManifest, deletion } from './apply_manifest.ts'
import type { ApplyDeps } from './apply_manifest.ts'
import type { ManifestDocument } from './manifests/documents.ts'
import type { SecretManifest } from './manifests/manifest.ts'
import { manifestFiles } from './manifests/manifest_files.ts'
import { indexManifests, problemsAt } from './manifests/manifest_index.ts'
import type { ManifestIndex } from './manifests/manifest_index.ts'
import type { FieldProblem, Problem } from './manifests/problem.ts'
import type { ObjectStore } from './state/object_store.ts'
import type { Change } from './state/state_file.ts'

export interface DirectoryScanner {
  /** Writes what changed in the directory into the store. Only a poll counts as an absence of missing objects. */
  scan(poll: boolean): Promise<void>
  /** Makes the next scan apply the manifest of this key even if its text is unchanged. */
  reapply(key: string): void
  /** All problems that the last scan found. */
  problems(): Problem[]
  /** False while the store may lack an object of a kind that has a manifest. */
  isComplete(kind: Kind): boolean
  /** The folders to watch, absolute. */
  folders(): string[]
  /** True while a file is being written: the next scan is due soon. */
  unsettled(): boolean
  /** The content of a Secret in the directory, once read. */
  secretContent(name: SecretName): SecretManifest | undefined
}

// The scanner yields to the event loop after this many documents.
const BATCH = 100

/** Applies the manifests of a directory to the store. An object that is absent in two polls in a row is deleted. */
export function directoryScanner(directory: string, store: ObjectStore, deps: ApplyDeps): DirectoryScanner {
  const files = manifestFiles(directory)
  const applied = new Map<string, ManifestDocument['value']>()
  const refused = new Map<string, FieldProblem[]>()
  const secrets = new Map<string, SecretManifest>()
  let index: ManifestIndex = { entries: new Map(), problems: [] }
  let absent = new Set<string>()
  let applyAgain = true
  let unsettled = false
  let folders: string[] = []

  async function applyAll(): Promise<void> {
    applyAgain = false
    let changes: Change[] = []
    let values = new Map<string, ManifestDocument['value']>()
    const write = () => {
      // Durable: a uid or generation that listeners have seen is not used again after a crash.
      store.write(changes, { durable: true })
      for (const [key, value] of values) applied.set(key, value)
      changes = []
      values = new Map()
    }
    try {
      for (const [key, { document, manifest }] of index.entries) {
        if (applied.get(key) === document.value) continue
        const { change, problems, deferred } = applyManifest(store.objects.get(key), manifest, deps)
        if (!deferred) values.set(key, document.value)
        if (problems.length > 0) refused.set(key, problems)
        else refused.delete(key)
        if (manifest.type === 'secret') secrets.set(key, manifest)
        if (change) changes.push(change)
        if (values.size < BATCH) continue
        write()
        await new Promise((resolve) => setImmediate(resolve))
      }
      write()
    } catch (error) {
      applyAgain = true
      throw error
    }
  }

  function deleteAbsent(poll: boolean): void {
    if (unsettled || index.problems.some(({ blocksDeletion }) => blocksDeletion)) {
      absent.clear()
      return
    }
    const missing = [...store.objects.keys()].filter((key) => !index.entries.has(key))
    if (!poll) {
      absent = new Set(missing.filter((key) => absent.has(key)))
      return
    }
    const changes: Change[] = []
    for (const key of missing) {
      const stored = store.objects.get(key)
      const change = stored && absent.has(key) && deletion(key, stored, deps.now())
      if (change) changes.push(change)
    }
    absent = new Set(missing)
    for (const key of missing) {
      applied.delete(key)
      refused.delete(key)
    }
    store.write(changes, { durable: true })
    for (const change of changes) if ('gone' in change) secrets.delete(change.gone)
  }

  return {
    async scan(poll) {
      const reading = await files.read()
      unsettled = reading.unsettled
      folders = reading.folders.map((path) => join(directory, path))
      if (reading.changed) index = indexManifests(directory, reading)
      if (reading.changed || applyAgain) await applyAll()
      deleteAbsent(poll)
    },
    reapply(key) {
      applied.delete(key)
      applyAgain = true
    },
    problems() {
      const ofFields = [...refused].flatMap(([key, problems]) => {
        const entry = index.entries.get(key)
        return entry ? problemsAt(directory, entry, problems) : []
      })
      return [...index.problems, ...ofFields]
    },
    isComplete(kind) {
      if (index.problems.some(({ blocksDeletion }) => blocksDeletion)) return false
      return ![...refused.keys()].some((key) => key.startsWith(`${kind}/`) && !store.objects.has(key))
    },
    folders: () => folders,
    unsettled: () => unsettled,
    secretContent: (name) => secrets.get(keyText({ kind: 'Secret', ...name })),
  }
}
