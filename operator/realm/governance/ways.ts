/**
 * Every known way to less governance of a realm without the verb approve on it. Each is a test that fails when the rule
 * against it is removed: in test/admission where the API server refuses the write, in test/end_to_end/cluster where the
 * write has no effect.
 */
export const WAYS_TO_LESS_GOVERNANCE = [
  'an update of identityGovernance',
  'a deletion, and a Realm created again',
  'the deletion of a collection of Realms',
  'a deletion by the garbage collector',
  'an owner reference',
  'the deletion of the namespace',
  'another Realm that takes the realm name',
  'a Realm of another namespace that takes the realm name',
  'a role removed from the realm and added again',
  'a field removed from the realm and added again',
  'wider allowedNamespaces',
  'a CRD deleted and created again',
  'a CRD changed, and changed back',
  'deletionPolicy Delete, which destroys the keys',
  'an edit in a gap of the policies',
  'an edit in a gap of the policies while the operator is away',
  'a confirmation by an account without the right',
  'a confirmation of another Realm or version',
  'a confirmation written in a gap of the policies',
] as const

export type WayToLessGovernance = (typeof WAYS_TO_LESS_GOVERNANCE)[number]
