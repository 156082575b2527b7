import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'

/** The YAML files under crds/policies/, the most important first. */
const FILES = [
  'role_assignment_decisions.yaml',
  'role_assignment_requests.yaml',
  'realm_governance.yaml',
  'user_subject.yaml',
]

/** The admission policies and their bindings as data, for whoever compares a cluster with them. */
export function policiesOf(folder: string): string {
  const objects = FILES.flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document) => document.toJS()),
  )
  const ofKind = (kind: string): string =>
    JSON.stringify(
      objects.filter((object) => object.kind === kind),
      null,
      1,
    )
  return [
    `// Generated from crds/policies by "npm run generate". Do not edit.`,
    `import type { AdmissionPolicy, AdmissionPolicyBinding } from './admission_policy.ts'`,
    '',
    `export const POLICIES: readonly AdmissionPolicy[] = ${ofKind('ValidatingAdmissionPolicy')}`,
    '',
    `/** One for each policy, under its name. */`,
    `export const POLICY_BINDINGS: readonly AdmissionPolicyBinding[] = ${ofKind('ValidatingAdmissionPolicyBinding')}`,
    '',
  ].join('\n')
}
