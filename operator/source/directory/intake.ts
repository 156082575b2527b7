import { admit } from './admission.ts'
import { canonicalText } from '../../../process/canonical_json.ts'
import type { Claim } from './claims.ts'
import { takeDecisions } from './decisions.ts'
import { isHeldObject, timeText } from './held_object.ts'
import type { Held, HeldObject } from './held_object.ts'
import type { NamespaceManifest, ResourceManifest, SecretManifest } from './manifest.ts'
import type { FieldProblem } from './problem.ts'
import type { Admission } from './schema_checks.ts'
import type { Change } from './state_file.ts'

/** What one document asks to be written. `waits`: it has to be looked at again. */
export interface Taken {
  change?: Change
  problems: FieldProblem[]
  waits?: boolean
}

/** Decides what a claim changes about the held object of its key. Pure. */
export function take(
  held: Held | undefined,
  manifest: Claim['manifest'],
  admission: Admission,
  secretDigest: (secret: SecretManifest) => string,
): Taken {
  if (manifest.type === 'unusable') return { problems: manifest.problems.map(kept(held)) }
  if (manifest.type === 'namespace') return takeNamespace(held, manifest)
  if (manifest.type === 'secret') return takeSecret(held, manifest, admission, secretDigest(manifest))
  return takeResource(held && isHeldObject(held) ? held : undefined, manifest, admission)
}

function takeResource(held: HeldObject | undefined, manifest: ResourceManifest, admission: Admission): Taken {
  const admitted = admit(held, manifest, admission)
  if (admitted.outcome === 'refused') return { problems: admitted.problems.map(kept(held)) }
  if (admitted.outcome === 'waits') return { problems: [], waits: true }

  const object = admitted.outcome === 'changed' ? admitted.object : undefined
  // Decisions were made on what is stored; an edit saved together with them comes after.
  const decided = held && takeDecisions(held, manifest, admission)
  if (!decided) return { ...(object && { change: { put: object } }), problems: [] }

  const { status, seenDecisions } = decided.object
  const put = { ...(object ?? decided.object), ...(status && { status }), ...(seenDecisions && { seenDecisions }) }
  return { change: { put }, problems: decided.problems }
}

function takeSecret(
  held: Held | undefined,
  { namespace, name }: SecretManifest,
  admission: Admission,
  digest: string,
): Taken {
  if (held?.kind === 'Secret' && held.digest === digest) return { problems: [] }
  const uid = held?.kind === 'Secret' ? held.uid : admission.randomUid()
  return { change: { put: { kind: 'Secret', namespace, name, uid, digest } }, problems: [] }
}

function takeNamespace(held: Held | undefined, { name, labels }: NamespaceManifest): Taken {
  if (held?.kind === 'Namespace' && canonicalText(held.labels) === canonicalText(labels)) return { problems: [] }
  return { change: { put: { kind: 'Namespace', namespace: '', name, labels } }, problems: [] }
}

/** What becomes of an object that is in no file any more: it goes, or it stays until its finalizers are done. */
export function removal(key: string, held: Held, now: Date): Change | undefined {
  if (!isHeldObject(held) || held.finalizers.length === 0) return { gone: key }
  if (held.deletionTimestamp !== undefined) return undefined
  // An API server counts the begin of a deletion as a generation, too.
  return { put: { ...held, deletionTimestamp: timeText(now), generation: held.generation + 1 } }
}

function kept(held: Held | undefined): (problem: FieldProblem) => FieldProblem {
  const consequence = held ? 'the last good state stays' : 'not taken over'
  return ({ path, message }) => ({ path, message: `${message} (${consequence})` })
}
