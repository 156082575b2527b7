import { join } from 'node:path'
import { didYouMean } from '../../../crds/validation/suggestion.ts'
import { indexManifests } from '../../../operator/source/directory/manifests/manifest_index.ts'
import { parseDocuments, positionOf } from '../../../operator/source/directory/manifests/documents.ts'
import type { ManifestDocument } from '../../../operator/source/directory/manifests/documents.ts'
import { listFiles, readText } from '../../../operator/source/directory/manifests/manifest_files.ts'
import type { ManifestFile } from '../../../operator/source/directory/manifests/manifest_files.ts'
import { isStoredResource } from '../../../operator/source/directory/state/stored_object.ts'
import { keyText } from '../../../operator/source/resource.ts'
import type { StoredObject, StoredResource } from '../../../operator/source/directory/state/stored_object.ts'
import type { ResourceManifest } from '../../../operator/source/directory/manifests/manifest.ts'
import { problemText } from '../../../operator/source/directory/manifests/problem.ts'
import type { Problem } from '../../../operator/source/directory/manifests/problem.ts'
import { readState } from '../../../operator/source/directory/state/state_file.ts'
import { assignmentRow } from '../assignment_row.ts'
import type { AssignmentRow, RealmLookup, RealmObject } from '../assignment_row.ts'
import { PlainError } from '../../../process/plain_error.ts'

/** A RoleAssignment in a file. */
export interface WrittenAssignment {
  /** Path, relative or absolute as the directory was given. */
  file: string
  line: number
  /** The whole text of the file. */
  text: string
  document: ManifestDocument
  manifest: ResourceManifest
}

export interface DirectoryOptions {
  directory: string
  stateDir: string
  namespace?: string | undefined
  now: Date
}

/** The RoleAssignments of a directory, oldest first. Throws PlainError when no process serves the directory. */
export async function listAssignments(options: DirectoryOptions): Promise<AssignmentRow[]> {
  const { directory, stateDir, namespace } = options
  const held = heldState(stateDir)
  const { byKey } = await writtenAssignments(directory)
  return heldAssignments(held)
    .filter((assignment) => namespace === undefined || assignment.namespace === namespace)
    .map((assignment) => rowOf(assignment, held, byKey, options.now))
    .toSorted((a, b) => b.ageSeconds - a.ageSeconds)
}

/** One RoleAssignment. Throws PlainError, with a similar name. */
export async function readAssignment(options: DirectoryOptions & { name: string }): Promise<AssignmentRow> {
  const held = heldState(options.stateDir)
  const assignment = getAssignment(held, options)
  const { byKey } = await writtenAssignments(options.directory)
  return rowOf(assignment, held, byKey, options.now)
}

/** The resources of the process that serves the directory. Throws PlainError when it has no state yet. */
export function heldState(stateDir: string): ReadonlyMap<string, StoredObject> {
  const state = readState(stateDir)
  if (state) return state.objects
  throw new PlainError(
    `no state in ${stateDir}: start "realmkeeper dev" on the directory first, or name its --state-dir`,
  )
}

/** The RoleAssignments of a state, sorted by name. */
function heldAssignments(held: ReadonlyMap<string, StoredObject>): StoredResource[] {
  const assignments = [...held.values()].filter(isStoredResource).filter(({ kind }) => kind === 'RoleAssignment')
  return assignments.toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : 1))
}

/** The RoleAssignment of a name. Throws PlainError, with a similar name. */
export function getAssignment(
  held: ReadonlyMap<string, StoredObject>,
  { namespace, name }: { namespace?: string | undefined; name: string },
): StoredResource {
  const all = heldAssignments(held)
  const found = all.filter((one) => one.name === name && (namespace === undefined || one.namespace === namespace))
  const [only] = found
  if (only && found.length === 1) return only
  if (only) {
    const namespaces = found.map((one) => one.namespace).join(', ')
    throw new PlainError(`RoleAssignment ${name} is in several namespaces; add --namespace with one of ${namespaces}`)
  }

  const elsewhere = all.find((one) => one.name === name)
  if (elsewhere) {
    throw new PlainError(`no RoleAssignment ${name} in namespace ${namespace}; there is one in ${elsewhere.namespace}`)
  }
  const suggestion = didYouMean(name, [...new Set(all.map((one) => one.name))])
  const hint = suggestion || '; "realmkeeper pending" lists the RoleAssignments'
  throw new PlainError(`no RoleAssignment ${namespace === undefined ? '' : `${namespace}/`}${name}${hint}`)
}

/** Reads every RoleAssignment in the files of a directory, by key, and the problems of files. */
async function writtenAssignments(
  directory: string,
): Promise<{ byKey: Map<string, WrittenAssignment>; problems: Problem[] }> {
  const { paths, problems } = listFiles(directory)
  const files: ManifestFile[] = []
  for (const path of paths) {
    const content = readText(join(directory, path))
    if (content.problem !== undefined)
      files.push({ path, text: '', documents: [], problems: [{ message: content.problem }] })
    // Most files hold users and clients, and need not be parsed.
    else if (content.text.includes('RoleAssignment')) {
      const parsed = await parseDocuments(content.text, new Map())
      files.push({ path, text: content.text, documents: parsed.documents, problems: parsed.problems })
    }
  }

  const index = indexManifests(directory, { files, problems })
  const byKey = new Map<string, WrittenAssignment>()
  for (const [key, { file, document, manifest }] of index.entries) {
    if (manifest.type !== 'resource' || manifest.kind !== 'RoleAssignment') continue
    const { line } = positionOf(file.text, document, ['metadata', 'name'])
    byKey.set(key, { file: join(directory, file.path), line, text: file.text, document, manifest })
  }
  return { byKey, problems: index.problems }
}

/** The document of a held RoleAssignment. Throws PlainError when it is in no file that can be read. */
export async function getWritten(directory: string, held: StoredResource): Promise<WrittenAssignment> {
  const { byKey, problems } = await writtenAssignments(directory)
  const written = byKey.get(keyText(held))
  const broken = problems.find(({ file, blocksDeletion }) => blocksDeletion && (!written || written.file === file))
  if (broken) throw new PlainError(`${problemText(broken)} (repair it first)`)
  if (written) return written
  throw new PlainError(`RoleAssignment ${held.namespace}/${held.name} is in no file of ${directory}`)
}

function rowOf(
  assignment: StoredResource,
  held: ReadonlyMap<string, StoredObject>,
  byKey: ReadonlyMap<string, WrittenAssignment>,
  now: Date,
): AssignmentRow {
  const findRealm: RealmLookup = (realm) => {
    const found = held.get(keyText({ kind: 'Realm', ...realm }))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- held specs fit the schema that the type is made from
    return found?.kind === 'Realm' ? (found as RealmObject) : undefined
  }
  const row = assignmentRow(assignment, findRealm, now)
  const written = byKey.get(keyText(assignment))
  return written ? { ...row, file: written.file, line: written.line } : row
}
