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

/** What is checked between objects, in the order in which somebody would want to repair it. */
const REFERENCE_CHECKS = [
  duplicateFindings,
  realmReferenceFindings,
  secretReferenceFindings,
  roleReferenceFindings,
  subjectReferenceFindings,
  audienceFindings,
]

/**
 * Checks manifests without a cluster: YAML, schema, CEL rules, and references inside the given set. Paths are files or
 * folders. Findings come by file and line; with `hasErrors` of them the command exits 1. Never rejects for what is in
 * the files.
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
  return findings.toSorted(byPlace)
}

function byPlace(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}
