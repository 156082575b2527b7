import { realpathSync, statSync } from 'node:fs'
import { printable } from '../../../process/printable.ts'
import type { RoleAssignmentSpec } from '../../../crds/role_assignment.gen.ts'
import { writerKeys } from '../../../operator/role_assignment/writers.ts'
import { covers, nameKey, statusDecisions } from '../../../operator/role_assignment/status_decisions.ts'
import { replaceFile } from '../../../operator/source/directory/state/atomic_file.ts'
import { digestOf } from '../../../process/canonical_json.ts'
import { applyDecisions } from '../../../operator/source/directory/decisions.ts'
import { errorCode } from '../../../process/loggable.ts'
import { readText } from '../../../operator/source/directory/manifests/manifest_files.ts'
import type { Approval, StoredResource } from '../../../operator/source/directory/state/stored_object.ts'
import { readManifest } from '../../../operator/source/directory/manifests/manifest.ts'
import type { ResourceManifest } from '../../../operator/source/directory/manifests/manifest.ts'
import { isObject } from '../../../crds/validation/defaulting.ts'
import { PlainError } from '../../../process/plain_error.ts'
import { approvalEntry, requireSeen } from '../approval.ts'
import { getAssignment, getWritten, heldState } from './directory_assignments.ts'
import type { WrittenAssignment } from './directory_assignments.ts'
import { withFileLocked } from './lock_file.ts'
import { withApproval } from './splice.ts'

export interface DecideOptions {
  directory: string
  stateDir: string
  /** Required only when two namespaces have a RoleAssignment of this name. */
  namespace?: string | undefined
  name: string
  /** User name of the approver. */
  approver: string
  decision: 'Approved' | 'Denied'
  comment?: string | undefined
  /** The only version to decide on, as `show` prints it. */
  seen?: string | undefined
  now: Date
}

export interface DecidedInDirectory {
  /** `unchanged`: the approver had already made this decision. */
  outcome: 'recorded' | 'unchanged'
  namespace: string
  name: string
  generation: number
  file: string
  line: number
}

/**
 * Writes a decision into the file of a RoleAssignment, as one entry of `status.approvals`; every other byte stays.
 * The entry names the uid and generation that the serving process holds. Throws PlainError for a decision that the
 * process would not count.
 */
export async function decideInDirectory(options: DecideOptions): Promise<DecidedInDirectory> {
  const first = getAssignment(heldState(options.stateDir), options)
  refuseApprover(first, options)
  const before = await getWritten(options.directory, first)

  // Replaces the target of a symbolic link, not the link.
  return withFileLocked(realpathSync(before.file), async () => {
    const held = getAssignment(heldState(options.stateDir), options)
    const written = await getWritten(options.directory, held)
    requireSeen(held, options.seen)
    refuseStale(held, written)
    const entry = approvalEntry(held, options, options.now)
    const isNew = changesDecisions(held, written.manifest, entry)
    if (isNew) write(written, entry)
    const { namespace, name, generation } = held
    const { file, line } = written
    return { outcome: isNew ? 'recorded' : 'unchanged', namespace, name, generation, file, line }
  })
}

function refuseApprover(held: StoredResource, { approver }: DecideOptions): void {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- held specs fit the schema that the type is made from
  const writers = held.spec as RoleAssignmentSpec
  if (approver.trim() === '') throw new PlainError('a decision needs the name of the approver: --as NAME')
  if (!writerKeys(writers).has(nameKey(approver))) return
  const isRequester = nameKey(approver) === nameKey(writers.requestedBy)
  const wrote = isRequester ? `requested by ${printable(writers.requestedBy)}` : `written by ${printable(approver)}`
  throw new PlainError(`RoleAssignment ${held.name} was ${wrote}, who cannot decide on it: another user must decide`)
}

function refuseStale(held: StoredResource, { file, line, manifest }: WrittenAssignment): void {
  const named = `RoleAssignment ${held.namespace}/${held.name}`
  if (held.deletionTimestamp !== undefined) throw new PlainError(`${named} is being deleted and cannot be decided on`)
  if (digestOf(manifest.body) === held.specDigest) return
  throw new PlainError(
    `${file}:${line}: ${named} was edited, and "realmkeeper dev" has not accepted the edit: ` +
      'wait, or repair the problem that it reports about this file, and review the RoleAssignment again',
  )
}

/** Whether the entry changes anything. Throws PlainError when it would not count. */
function changesDecisions(held: StoredResource, manifest: ResourceManifest, entry: Approval): boolean {
  const now = new Date(entry.decidedAt ?? 0)
  // Includes the decisions in the file that the serving process has not read yet.
  const present = applyDecisions(held, manifest, now)?.object ?? held
  const covering = statusDecisions(present.status).filter((decision) => covers(decision, held))
  if (covering.some(({ approver, decision }) => approver === entry.approver && decision === entry.decision))
    return false

  const denied = covering.find(({ decision }) => decision === 'Denied')
  if (denied && entry.decision === 'Approved') {
    const message = `${printable(denied.approver)} has denied generation ${held.generation} of RoleAssignment ${held.name}`
    throw new PlainError(`${message}; only an edit of its spec opens it again`)
  }
  const alone = { ...manifest, status: { approvals: [entry] } }
  const [problem] = applyDecisions(present, alone, now)?.problems ?? []
  if (problem) throw new PlainError(`the decision on RoleAssignment ${held.name} would not count: ${problem.message}`)
  return true
}

function write({ file, text, document, manifest }: WrittenAssignment, entry: Approval): void {
  const part = text.slice(document.start, document.end)
  const spliced = withApproval(part, (value) => isSame(value, manifest), entry)
  const path = realpathSync(file)
  const present = readText(path)
  if (present.problem !== undefined || present.text !== text) {
    throw new PlainError(`${file} changed in the meantime; nothing was written: try again`)
  }
  const { mode } = statSync(path)
  try {
    replaceFile(path, text.slice(0, document.start) + spliced + text.slice(document.end), { mode: mode & 0o7777 })
  } catch (error) {
    throw new PlainError(`${file} cannot be written (${errorCode(error)}); nothing was changed`, { cause: error })
  }
}

function isSame(value: unknown, { namespace, name }: ResourceManifest): boolean {
  const manifest = readManifest(isObject(value) ? value : {})
  return (
    manifest.type === 'resource' &&
    manifest.kind === 'RoleAssignment' &&
    manifest.namespace === namespace &&
    manifest.name === name
  )
}
