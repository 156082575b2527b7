import { shippedPolicies } from '../../crds/policies.ts'
import type { AdmissionPolicy, AdmissionPolicyBinding } from '../../crds/policies.ts'
import { MERGE_PATCH } from './control_plane/account.ts'
import type { Account } from './control_plane/account.ts'

const { policies, bindings } = shippedPolicies()
const SHIPPED = [...policies, ...bindings]
const API = '/apis/admissionregistration.k8s.io/v1'

export const POLICY_PATHS = {
  ValidatingAdmissionPolicy: `${API}/validatingadmissionpolicies`,
  ValidatingAdmissionPolicyBinding: `${API}/validatingadmissionpolicybindings`,
}
export const POLICY_NAMES = policies.map(({ metadata }) => metadata.name)

/** The right to read the shipped policies. */
export const READ_POLICIES = {
  apiGroups: ['admissionregistration.k8s.io'],
  resources: ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
  resourceNames: POLICY_NAMES,
  verbs: ['get', 'list', 'watch'],
}

/** Creates policies and bindings, by default the shipped ones. They are in force up to a second later. */
export async function installPolicies(
  admin: Account,
  objects: readonly (AdmissionPolicy | AdmissionPolicyBinding)[] = SHIPPED,
): Promise<void> {
  await Promise.all(objects.map((object) => admin.do('POST', POLICY_PATHS[object.kind], object)))
}

/** Deletes the shipped policies and bindings that are there. They stay in force for up to a second. */
export async function removePolicies(admin: Account): Promise<void> {
  await Promise.all(SHIPPED.map((object) => admin.call('DELETE', pathOf(object))))
}

/** By edits where objects are present, as an administrator does; creates what is missing. */
export async function repairPolicies(admin: Account): Promise<void> {
  for (const object of SHIPPED) {
    const spec = { matchConditions: null, ...object.spec }
    const { status } = await admin.call('PATCH', pathOf(object), { spec }, { contentType: MERGE_PATCH })
    if (status === 404) await admin.do('POST', POLICY_PATHS[object.kind], object)
  }
}

/** Ways to put a policy out of force, each with its description. */
export function gapsOf(admin: Account, name: string): [how: string, open: () => Promise<unknown>][] {
  const policy = `${POLICY_PATHS.ValidatingAdmissionPolicy}/${name}`
  const binding = `${POLICY_PATHS.ValidatingAdmissionPolicyBinding}/${name}`
  const patch = (path: string, spec: object) => admin.call('PATCH', path, { spec }, { contentType: MERGE_PATCH })
  return [
    ['no policy', () => admin.call('DELETE', policy)],
    ['no binding', () => admin.call('DELETE', binding)],
    ['warns', () => patch(binding, { validationActions: ['Warn'] })],
    ['allows', () => patch(policy, { validations: [{ expression: 'true' }] })],
    ['matches nothing', () => patch(policy, { matchConditions: [{ name: 'none', expression: 'false' }] })],
  ]
}

function pathOf({ kind, metadata }: AdmissionPolicy | AdmissionPolicyBinding): string {
  return `${POLICY_PATHS[kind]}/${metadata.name}`
}
