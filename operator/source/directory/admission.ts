import { digestOf, canonicalText } from '../../../process/canonical_json.ts'
import { decisionDigests } from './decisions.ts'
import { objectOf, timeText } from './held_object.ts'
import type { HeldObject } from './held_object.ts'
import type { ResourceManifest } from './manifest.ts'
import type { FieldProblem } from './problem.ts'
import type { Admission } from './schema_checks.ts'

/** `waits`: the object of that name is still being deleted. */
export type Admitted =
  | { outcome: 'unchanged' | 'waits' }
  | { outcome: 'changed'; object: HeldObject }
  | { outcome: 'refused'; problems: FieldProblem[] }

/**
 * Does with a manifest what an API server does with an apply: create, update, or refuse and keep what is held.
 * Status is not touched: on create it is dropped, on update it belongs to the status subresource (`takeDecisions`).
 */
export function admit(held: HeldObject | undefined, manifest: ResourceManifest, admission: Admission): Admitted {
  if (!held) return create(manifest, admission)
  // The manifest of what is being deleted was absent for two polls: this is the next object of that name.
  if (held.deletionTimestamp !== undefined) return { outcome: 'waits' }

  const specDigest = digestOf(manifest.body)
  const { labels, annotations } = manifest
  const sameMetadata =
    canonicalText({ labels, annotations }) === canonicalText({ labels: held.labels, annotations: held.annotations })
  if (specDigest === held.specDigest && sameMetadata) return { outcome: 'unchanged' }

  const checked = check(manifest, admission, held)
  if (checked.problems.length > 0) return { outcome: 'refused', problems: checked.problems }

  const sameSpec = canonicalText(checked.spec) === canonicalText(held.spec)
  const object = { ...held, labels, annotations, spec: checked.spec, specDigest }
  if (!sameSpec) object.generation++
  return { outcome: 'changed', object }
}

function create(manifest: ResourceManifest, admission: Admission): Admitted {
  const checked = check(manifest, admission)
  if (checked.problems.length > 0) return { outcome: 'refused', problems: checked.problems }

  const { kind, namespace, name, labels, annotations } = manifest
  const seenDecisions = decisionDigests(manifest)
  const object: HeldObject = {
    kind,
    namespace,
    name,
    uid: admission.randomUid(),
    generation: 1,
    resourceVersion: 0,
    creationTimestamp: timeText(admission.now()),
    finalizers: [],
    labels,
    annotations,
    spec: checked.spec,
    specDigest: digestOf(manifest.body),
    ...(seenDecisions.length > 0 && { seenDecisions }),
  }
  return { outcome: 'changed', object }
}

/** Schema, then rules: a rule may rely on the schema. On an update the stored status is there, which rules may name. */
function check(
  manifest: ResourceManifest,
  admission: Admission,
  held?: HeldObject,
): { spec: unknown; problems: FieldProblem[] } {
  const { kind, namespace, name, labels, annotations, body } = manifest
  const valid = admission.defaultAndValidate(kind, { ...body, metadata: { namespace, name, labels, annotations } })
  if (valid.problems.length > 0) return { spec: undefined, problems: valid.problems }
  const object = { ...valid.value, ...(held?.status && { status: held.status }) }
  const { problems } = admission.evaluateRules(kind, object, held && objectOf(held))
  return { spec: valid.value['spec'], problems }
}
