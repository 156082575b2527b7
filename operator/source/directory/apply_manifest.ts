import { evaluateRules } from '../../../crds/validation/cel.ts'
import { defaultAndValidate } from '../../../crds/validation/validation.ts'
import { canonicalText, digestOf } from '../../../process/canonical_json.ts'
import { applyDecisions, decisionDigests } from './decisions.ts'
import type { NamespaceManifest, ResourceManifest, SecretManifest, UnusableManifest } from './manifests/manifest.ts'
import type { FieldProblem } from './manifests/problem.ts'
import type { Change } from './state/state_file.ts'
import { isStoredResource, objectOf, timeText } from './state/stored_object.ts'
import type { StoredObject, StoredResource } from './state/stored_object.ts'

export interface ApplyDeps {
  now: () => Date
  randomUid: () => string
  /** A digest that changes with any member of the Secret that reconcilers read. */
  secretDigest: (secret: SecretManifest) => string
}

export interface ApplyResult {
  change?: Change
  problems: FieldProblem[]
  /** The former object of that name is still being deleted: apply the manifest again when it is gone. */
  deferred?: boolean
}

/** Decides what a manifest changes about the stored object of its name, as an API server does for `kubectl apply`. */
export function applyManifest(
  stored: StoredObject | undefined,
  manifest: ResourceManifest | SecretManifest | NamespaceManifest | UnusableManifest,
  deps: ApplyDeps,
): ApplyResult {
  if (manifest.type === 'unusable') return refused(manifest.problems, stored)
  if (manifest.type === 'namespace') return applyNamespace(stored, manifest)
  if (manifest.type === 'secret') return applySecret(stored, manifest, deps)
  if (!stored || !isStoredResource(stored)) return create(manifest, deps)
  return update(stored, manifest, deps)
}

/** The change for an object that is in no file any more. With finalizers it stays, marked as being deleted. */
export function deletion(key: string, stored: StoredObject, now: Date): Change | undefined {
  if (!isStoredResource(stored) || stored.finalizers.length === 0) return { gone: key }
  if (stored.deletionTimestamp !== undefined) return undefined
  // An API server raises the generation at the start of a deletion, too.
  return { put: { ...stored, deletionTimestamp: timeText(now), generation: stored.generation + 1 } }
}

/** Drops the status of the manifest, as an API server does for kinds with a status subresource. */
function create(manifest: ResourceManifest, { now, randomUid }: ApplyDeps): ApplyResult {
  const { spec, problems } = check(manifest)
  if (problems.length > 0) return refused(problems, undefined)

  const { kind, namespace, name, labels, annotations } = manifest
  const seenDecisions = decisionDigests(manifest)
  const put: StoredResource = {
    kind,
    namespace,
    name,
    uid: randomUid(),
    generation: 1,
    resourceVersion: 0,
    creationTimestamp: timeText(now()),
    finalizers: [],
    labels,
    annotations,
    spec,
    specDigest: digestOf(manifest.body),
    ...(seenDecisions.length > 0 && { seenDecisions }),
  }
  return { change: { put }, problems: [] }
}

function update(stored: StoredResource, manifest: ResourceManifest, { now }: ApplyDeps): ApplyResult {
  // Its manifest was absent for two polls, so this one is of the next object of that name.
  if (stored.deletionTimestamp !== undefined) return { problems: [], deferred: true }

  const edited = edit(stored, manifest)
  if ('problems' in edited) return refused(edited.problems, stored)

  // A decision saved together with an edit is about the stored generation, which its author saw.
  const decided = applyDecisions(stored, manifest, now())
  if (!decided) return edited === stored ? { problems: [] } : { change: { put: edited }, problems: [] }
  const { status, seenDecisions } = decided.object
  const put = { ...edited, ...(status && { status }), ...(seenDecisions && { seenDecisions }) }
  return { change: { put }, problems: decided.problems }
}

/** The object with the spec, labels and annotations of the manifest; `stored` itself when they are the same. */
function edit(stored: StoredResource, manifest: ResourceManifest): StoredResource | { problems: FieldProblem[] } {
  const specDigest = digestOf(manifest.body)
  const { labels, annotations } = manifest
  const sameMetadata =
    canonicalText({ labels, annotations }) === canonicalText({ labels: stored.labels, annotations: stored.annotations })
  if (specDigest === stored.specDigest && sameMetadata) return stored

  const { spec, problems } = check(manifest, stored)
  if (problems.length > 0) return { problems }
  const generation = canonicalText(spec) === canonicalText(stored.spec) ? stored.generation : stored.generation + 1
  return { ...stored, labels, annotations, spec, specDigest, generation }
}

/** Schema first, because rules may rely on it. On an update, rules may also read the stored status. */
function check(manifest: ResourceManifest, stored?: StoredResource): { spec: unknown; problems: FieldProblem[] } {
  const { kind, namespace, name, labels, annotations, body } = manifest
  const valid = defaultAndValidate(kind, { ...body, metadata: { namespace, name, labels, annotations } })
  if (valid.problems.length > 0) return { spec: undefined, problems: valid.problems }
  const object = { ...valid.value, ...(stored?.status && { status: stored.status }) }
  const { problems } = evaluateRules(kind, object, stored && objectOf(stored))
  return { spec: valid.value['spec'], problems }
}

function applySecret(stored: StoredObject | undefined, manifest: SecretManifest, deps: ApplyDeps): ApplyResult {
  const { namespace, name } = manifest
  const digest = deps.secretDigest(manifest)
  const present = stored?.kind === 'Secret' ? stored : undefined
  if (present?.digest === digest) return { problems: [] }
  const uid = present?.uid ?? deps.randomUid()
  return { change: { put: { kind: 'Secret', namespace, name, uid, digest } }, problems: [] }
}

function applyNamespace(stored: StoredObject | undefined, { name, labels }: NamespaceManifest): ApplyResult {
  if (stored?.kind === 'Namespace' && canonicalText(stored.labels) === canonicalText(labels)) return { problems: [] }
  return { change: { put: { kind: 'Namespace', namespace: '', name, labels } }, problems: [] }
}

function refused(problems: FieldProblem[], stored: StoredObject | undefined): ApplyResult {
  const consequence = stored ? 'the last good state stays' : 'not taken over'
  return { problems: problems.map(({ path, message }) => ({ path, message: `${message} (${consequence})` })) }
}
