import { join } from 'node:path'
import type { Kind } from '../resource.ts'
import type { SecretName } from '../resource_source.ts'
import { claimsOf, problemsAt } from './claims.ts'
import type { Claims } from './claims.ts'
import type { ManifestDocument } from './documents.ts'
import { manifestFolder } from './folder.ts'
import { heldKey } from './held_object.ts'
import { removal, take } from './intake.ts'
import type { SecretManifest } from './manifest.ts'
import type { Objects } from './objects.ts'
import type { FieldProblem, Problem } from './problem.ts'
import type { Admission } from './schema_checks.ts'
import type { Change } from './state_file.ts'

export interface DirectoryLooks {
  /** Takes over what changed in the directory. A poll also counts absences. */
  look(poll: boolean): Promise<void>
  /** Have the document of a key looked at again, though it did not change. */
  lookAgain(key: string): void
  /** Everything wrong in the directory as of the last look. */
  problems(): Problem[]
  /** Whether nothing of a kind can be missing in what is held. */
  complete(kind: Kind): boolean
  /** The folders to watch, absolute. */
  folders(): string[]
  /** Whether a file is being written just now, so that another look should come soon. */
  unsettled(): boolean
  /** The content of a Secret in the directory, once read. */
  secretContent(name: SecretName): SecretManifest | undefined
}

export interface LooksDeps {
  directory: string
  objects: Objects
  admission: Admission
  secretDigest: (secret: SecretManifest) => string
}

// Written in one piece, between two breaths of the event loop.
const SLICE = 100

export function directoryLooks({ directory, objects, admission, secretDigest }: LooksDeps): DirectoryLooks {
  const folder = manifestFolder(directory)
  const taken = new Map<string, ManifestDocument['value']>()
  const refused = new Map<string, FieldProblem[]>()
  const secrets = new Map<string, SecretManifest>()
  let claims: Claims = { byKey: new Map(), problems: [] }
  let absent = new Set<string>()
  let again = true
  let unsettled = false
  let folders: string[] = []

  async function takeAll(): Promise<void> {
    again = false
    let changes: Change[] = []
    let values = new Map<string, ManifestDocument['value']>()
    const write = () => {
      // Uids and generations are on disk before anybody hears of them.
      objects.write(changes, { durable: true })
      for (const [key, value] of values) taken.set(key, value)
      changes = []
      values = new Map()
    }
    try {
      for (const [key, { document, manifest }] of claims.byKey) {
        if (taken.get(key) === document.value) continue
        const { change, problems, waits } = take(objects.held.get(key), manifest, admission, secretDigest)
        // What waits for another object to go is looked at again when it is gone (`lookAgain`).
        if (!waits) values.set(key, document.value)
        if (problems.length > 0) refused.set(key, problems)
        else refused.delete(key)
        if (manifest.type === 'secret') secrets.set(key, manifest)
        if (change) changes.push(change)
        if (values.size < SLICE) continue
        write()
        await new Promise((resolve) => setImmediate(resolve))
      }
      write()
    } catch (error) {
      again = true
      throw error
    }
  }

  function countAbsences(poll: boolean): void {
    if (unsettled || claims.problems.some(({ holdsDeletions }) => holdsDeletions)) {
      absent.clear()
      return
    }
    const missing = [...objects.held.keys()].filter((key) => !claims.byKey.has(key))
    if (!poll) {
      absent = new Set(missing.filter((key) => absent.has(key)))
      return
    }
    const changes: Change[] = []
    for (const key of missing) {
      const held = objects.held.get(key)
      const change = held && absent.has(key) && removal(key, held, admission.now())
      if (change) changes.push(change)
    }
    absent = new Set(missing)
    for (const key of missing) {
      taken.delete(key)
      refused.delete(key)
    }
    objects.write(changes, { durable: true })
    for (const change of changes) if ('gone' in change) secrets.delete(change.gone)
  }

  return {
    async look(poll) {
      const reading = await folder.read()
      unsettled = reading.unsettled
      folders = reading.folders.map((path) => join(directory, path))
      if (reading.changed) claims = claimsOf(directory, reading)
      if (reading.changed || again) await takeAll()
      countAbsences(poll)
    },
    lookAgain(key) {
      taken.delete(key)
      again = true
    },
    problems() {
      const ofFields = [...refused].flatMap(([key, problems]) => {
        const claim = claims.byKey.get(key)
        return claim ? problemsAt(directory, claim, problems) : []
      })
      return [...claims.problems, ...ofFields]
    },
    complete(kind) {
      if (claims.problems.some(({ holdsDeletions }) => holdsDeletions)) return false
      return ![...refused.keys()].some((key) => key.startsWith(`${kind}/`) && !objects.held.has(key))
    },
    folders: () => folders,
    unsettled: () => unsettled,
    secretContent: (name) => secrets.get(heldKey({ kind: 'Secret', ...name })),
  }
}
