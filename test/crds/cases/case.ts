/** A manifest as written, before defaulting. */
export interface Written {
  apiVersion: string
  kind: string
  metadata: Record<string, unknown>
  // oxlint-disable-next-line typescript/no-explicit-any -- cases break it in every way
  spec: any
  // oxlint-disable-next-line typescript/no-explicit-any -- as spec
  status?: any
}

/** One broken thing, and its first problem, which is the only one unless `more`. */
export interface InvalidCase {
  name: string
  breakIt: (object: Written) => unknown
  /** As `pathText` writes it. */
  path: string
  message: RegExp
  more?: true
}

/** An update: the stored object, the written object, and the problem. An allowed update has no path. */
export interface UpdateCase {
  name: string
  stored: (object: Written) => unknown
  written: (object: Written) => unknown
  path?: string
  message?: RegExp
}

export interface KindCases {
  kind: string
  /** A valid object that uses every field. */
  valid: () => Written
  /** A valid object with only the required fields. */
  smallest: () => Written
  /** Valid variants. */
  alsoValid: { name: string; change: (object: Written) => unknown }[]
  invalid: InvalidCase[]
  updates: UpdateCase[]
}

export function written(kind: string, name: string, spec: object, status?: object): Written {
  return {
    apiVersion: 'realmkeeper.io/v1beta1',
    kind,
    metadata: { name, namespace: 'team' },
    spec,
    ...(status && { status }),
  }
}

export const condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Served',
  message: 'it is served',
  observedGeneration: 1,
  lastTransitionTime: '2030-01-01T00:00:00Z',
}

/** Objects that every kind refuses. */
export const commonInvalid: InvalidCase[] = [
  {
    name: 'row 90: an unknown field',
    breakIt: (o) => (o.spec.colour = 'red'),
    path: 'spec.colour',
    message: /unknown field/,
  },
  {
    name: 'row 90: a field at the root',
    breakIt: (o) => Object.assign(o, { specs: {} }),
    path: 'specs',
    message: /unknown field; did you mean spec\?/,
  },
  { name: 'row 90: no spec', breakIt: (o) => delete o.spec, path: 'spec', message: /is required/ },
  {
    name: 'another version',
    breakIt: (o) => (o.apiVersion = 'realmkeeper.io/v1'),
    path: 'apiVersion',
    message: /v1beta1/,
  },
  { name: 'another kind', breakIt: (o) => (o.kind = 'Group'), path: 'kind', message: /must be/ },
  { name: 'no name', breakIt: (o) => delete o.metadata['name'], path: 'metadata.name', message: /is required/ },
  {
    name: 'a name that is not a DNS name',
    breakIt: (o) => (o.metadata['name'] = 'Not_A_Name'),
    path: 'metadata.name',
    message: /DNS name/,
  },
  {
    name: 'a label that is not text',
    breakIt: (o) => (o.metadata['labels'] = { team: 1 }),
    path: 'metadata.labels.team',
    message: /must be a string/,
  },
  {
    name: 'a condition with an unknown status',
    breakIt: (o) => (o.status.conditions[0].status = 'Maybe'),
    path: 'status.conditions[0].status',
    message: /True, False, Unknown/,
  },
  {
    name: 'a condition twice',
    breakIt: (o) => o.status.conditions.unshift({ ...condition }),
    path: 'status.conditions[1]',
    message: /the same type/,
  },
]

/** Invalid values of realmRef in Client, User and RoleAssignment. */
export const realmRefInvalid: InvalidCase[] = [
  { name: 'no realmRef', breakIt: (o) => delete o.spec.realmRef, path: 'spec.realmRef', message: /is required/ },
  {
    name: 'an empty realmRef.namespace',
    breakIt: (o) => (o.spec.realmRef.namespace = ''),
    path: 'spec.realmRef.namespace',
    message: /is empty|does not match/,
  },
]

export const realmRefUpdates: UpdateCase[] = [
  {
    name: 'row 92: another realm',
    stored: () => {},
    written: (o) => (o.spec.realmRef.name = 'other'),
    path: 'spec.realmRef',
    message: /realmRef is immutable/,
  },
  {
    name: 'row 92: realmRef.namespace removed',
    stored: (o) => (o.spec.realmRef.namespace = 'platform'),
    written: (o) => delete o.spec.realmRef.namespace,
    path: 'spec.realmRef',
    message: /realmRef is immutable/,
  },
  { name: 'the same again', stored: () => {}, written: () => {} },
]
