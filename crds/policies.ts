import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'

/** A ValidatingAdmissionPolicy as shipped: it holds every field that the API server would default. */
export interface AdmissionPolicy {
  apiVersion: 'admissionregistration.k8s.io/v1'
  kind: 'ValidatingAdmissionPolicy'
  metadata: PolicyMetadata
  spec: {
    failurePolicy: string
    matchConstraints: {
      matchPolicy: string
      namespaceSelector: object
      objectSelector: object
      resourceRules: {
        apiGroups: string[]
        apiVersions: string[]
        operations: string[]
        resources: string[]
        scope: string
      }[]
    }
    variables?: { name: string; expression: string }[]
    validations: { expression: string; message?: string; messageExpression?: string; reason: string }[]
  }
}

/** Puts the policy of the same name into force in the whole cluster. */
export interface AdmissionPolicyBinding {
  apiVersion: 'admissionregistration.k8s.io/v1'
  kind: 'ValidatingAdmissionPolicyBinding'
  metadata: PolicyMetadata
  spec: { policyName: string; validationActions: string[] }
}

interface PolicyMetadata {
  name: string
  labels: Record<string, string>
  annotations: Record<string, string>
}

/** The admission policies, and one binding for each. */
export interface Policies {
  policies: readonly AdmissionPolicy[]
  bindings: readonly AdmissionPolicyBinding[]
}

/** The most important policy comes first. */
const FILES = [
  'role_assignment_decisions.yaml',
  'role_assignment_requests.yaml',
  'realm_governance.yaml',
  'user_subject.yaml',
]

let shipped: Policies | undefined

/** The policies and bindings under crds/policies. Reads the files on the first call. */
export function shippedPolicies(): Policies {
  shipped ??= readPolicies()
  return shipped
}

function readPolicies(): Policies {
  const objects: (AdmissionPolicy | AdmissionPolicyBinding)[] = FILES.flatMap((file) =>
    parseAllDocuments(readFileSync(join(import.meta.dirname, 'policies', file), 'utf8')).map((document) =>
      document.toJS(),
    ),
  )
  return {
    policies: objects.filter((object) => object.kind === 'ValidatingAdmissionPolicy'),
    bindings: objects.filter((object) => object.kind === 'ValidatingAdmissionPolicyBinding'),
  }
}
