import { API_VERSION, GROUP } from '../../crds/group.ts'
import { evaluateRules } from '../../crds/validation/cel.ts'
import { closest, didYouMean } from '../../crds/validation/suggestion.ts'
import { KIND_NAMES } from '../../crds/schemas.ts'
import { defaultAndValidate } from '../../crds/validation/validation.ts'
import { MAX_OBJECT_BYTES } from '../../operator/source/directory/manifests/manifest.ts'
import type { Finding } from './finding.ts'
import { findingAt } from './manifest.ts'
import type { Manifest } from './manifest.ts'
import { isSecret } from './secret.ts'
import { yamlTraps } from './yaml_traps.ts'

/** A manifest of one of the four kinds. */
export interface CheckedManifest extends Manifest {
  /** After defaulting; absent when the object violates its schema and must not be read. */
  value?: Record<string, unknown>
}

/** Checks each object: schema, CEL rules and YAML traps. Ignores kinds of other groups. */
export function checkObjects(manifests: Manifest[]): { checked: CheckedManifest[]; findings: Finding[] } {
  const findings: Finding[] = []
  const checked: CheckedManifest[] = []
  for (const manifest of manifests) {
    const ours = manifest.apiVersion.split('/')[0] === GROUP
    if (ours || isSecret(manifest)) findings.push(...trapFindings(manifest))
    if (!ours) {
      findings.push(...misspelledGroup(manifest))
    } else if (KIND_NAMES.includes(manifest.kind)) {
      const result = checkObject(manifest)
      findings.push(...result.findings)
      checked.push(result.checked)
    } else {
      findings.push(findingAt(manifest, 'error', ['kind'], unknownKind(manifest.kind)))
    }
  }
  return { checked, findings }
}

function checkObject(manifest: Manifest): { checked: CheckedManifest; findings: Finding[] } {
  const { value, problems } = defaultAndValidate(manifest.kind, manifest.object)
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_OBJECT_BYTES) {
    problems.push({ path: [], message: 'is larger than 1.5 MiB, which no API server stores' })
  }
  if (problems.length > 0) {
    return {
      checked: manifest,
      findings: problems.map((problem) => findingAt(manifest, 'error', problem.path, problem.message)),
    }
  }

  const rules = evaluateRules(manifest.kind, value)
  const unevaluated = rules.unevaluated.map(({ path, rule, why }) => {
    const message = `this rule cannot be evaluated without a cluster (${why}): ${rule}`
    return findingAt(manifest, 'note', path, message)
  })
  const former = manifest.apiVersion === API_VERSION ? [] : [formerVersion(manifest)]
  const broken = rules.problems.map(({ path, message }) => findingAt(manifest, 'error', path, message))
  return { checked: { ...manifest, value }, findings: [...former, ...broken, ...unevaluated] }
}

function formerVersion(manifest: Manifest): Finding {
  const message = `${manifest.apiVersion} is deprecated; write ${API_VERSION}`
  return findingAt(manifest, 'note', ['apiVersion'], message)
}

function trapFindings(manifest: Manifest): Finding[] {
  return yamlTraps(manifest.node, isSecret(manifest)).map(({ offset, message }) => {
    const { line, col } = manifest.lines.linePos(offset)
    return { ...findingAt(manifest, 'error', [], message), line, column: col }
  })
}

function misspelledGroup(manifest: Manifest): Finding[] {
  const [group = '', version] = manifest.apiVersion.split('/')
  if (version === undefined || !KIND_NAMES.includes(manifest.kind) || !closest(group, [GROUP])) return []
  return [findingAt(manifest, 'error', ['apiVersion'], `unknown group; did you mean ${API_VERSION}?`)]
}

function unknownKind(kind: string): string {
  return `${GROUP} has the kinds ${KIND_NAMES.join(', ')}${didYouMean(kind, KIND_NAMES)}`
}
