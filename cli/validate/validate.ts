import { checkObjects } from './check_objects.ts'
import type { Finding } from './finding.ts'
import { manifestSet } from './manifest_set.ts'
import { readManifests } from './read_manifests.ts'
import { audienceFindings } from './references/audience_references.ts'
import { duplicateFindings } from './references/duplicates.ts'
import { realmReferenceFindings } from './references/realm_references.ts'
import { roleReferenceFindings } from './references/role_references.ts'
import { secretReferenceFindings } from './references/secret_references.ts'
import { subjectReferenceFindings } from './references/subject_references.ts'

/** Checks between objects, in the order in which to fix their findings. */
const REFERENCE_CHECKS = [
  duplicateFindings,
  realmReferenceFindings,
  secretReferenceFindings,
  roleReferenceFindings,
  subjectReferenceFindings,
  audienceFindings,
]

/**
 * Checks files and folders of manifests without a cluster: YAML, schema, CEL rules, and references between them.
 * Findings are sorted by file and line. No content of a file makes it throw.
 */
export async function validatePaths(paths: string[]): Promise<Finding[]> {
  const { manifests, findings: unread } = await readManifests(paths)
  const { checked, findings: broken } = checkObjects(manifests)
  const set = manifestSet(manifests, checked)
  const findings = [...unread, ...broken, ...REFERENCE_CHECKS.flatMap((check) => check(set))]
  if (checked.length === 0 && findings.length === 0) {
    const message = 'no object of realmkeeper.io in these files'
    findings.push({ file: paths[0] ?? '.', line: 1, column: 1, severity: 'note', message })
  }
  return findings.toSorted(byPosition)
}

function byPosition(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}
