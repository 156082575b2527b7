import { API_VERSION, API_VERSIONS, GROUP } from '../../../../crds/group.ts'
import { isObject } from '../../../../crds/validation/defaulting.ts'
import { metadataProblems } from '../../../../crds/validation/object_meta.ts'
import { KINDS } from '../../resource.ts'
import type { Kind } from '../../resource.ts'
import type { FieldProblem } from './problem.ts'

/** One document of a file, before schema validation. */
export type Manifest = ResourceManifest | SecretManifest | NamespaceManifest | { type: 'ignored' } | UnusableManifest

interface Named {
  namespace: string
  name: string
  labels: Record<string, string>
  annotations: Record<string, string>
}

export interface ResourceManifest extends Named {
  type: 'resource'
  kind: Kind
  /** Everything but metadata and status, as written; the schema decides about unknown members. */
  body: Record<string, unknown>
  status: unknown
}

export interface SecretManifest extends Named {
  type: 'secret'
  kind: 'Secret'
  /** Base64 by key. Never log it. */
  data: Record<string, string>
  uid?: string
  creationTimestamp?: string
  controllerUid?: string
}

export interface NamespaceManifest {
  type: 'namespace'
  kind: 'Namespace'
  namespace: ''
  name: string
  labels: Record<string, string>
}

/** Cannot be applied. With a name it shows that this object is not deleted; without, it may be any object. */
export interface UnusableManifest {
  type: 'unusable'
  object?: { kind: string; namespace: string; name: string }
  problems: FieldProblem[]
}

/** The default limit of etcd on a request. */
export const MAX_OBJECT_BYTES = 1.5 * 1024 * 1024
const MAX_SECRET_BYTES = 1024 * 1024

/** Reads one document by its apiVersion and kind. Messages never repeat a value, which may be secret. */
export function readManifest(value: Record<string, unknown>): Manifest {
  const { apiVersion, kind } = value
  if (typeof apiVersion !== 'string')
    return unusable('apiVersion', 'is missing; every manifest begins with apiVersion and kind')
  if (typeof kind !== 'string') return unusable('kind', 'is missing; every manifest begins with apiVersion and kind')
  if (apiVersion === 'v1' && kind === 'Secret') return named(value, kind, secretOf)
  if (apiVersion === 'v1' && kind === 'Namespace') return named(value, kind, namespaceOf)
  if (apiVersion === 'v1' && kind === 'List')
    return unusable('kind', 'List is not read; write each item as a document of its own')
  if (apiVersion.split('/')[0] !== GROUP) return { type: 'ignored' }
  if (!API_VERSIONS.includes(apiVersion)) {
    return unusable('apiVersion', `this version is not known; write ${API_VERSION}`)
  }
  if (!isKind(kind)) return unusable('kind', `${GROUP} has no such kind; it has ${KINDS.join(', ')}`)
  return named(value, kind, (parts) => resourceOf(parts, kind))
}

function isKind(kind: string): kind is Kind {
  return (KINDS as readonly string[]).includes(kind)
}

interface Parts {
  value: Record<string, unknown>
  named: Named
  /** Readers add theirs. */
  problems: FieldProblem[]
}

function named(value: Record<string, unknown>, kind: string, read: (parts: Parts) => Manifest): Manifest {
  const { metadata } = value
  const problems: FieldProblem[] = metadataProblems(metadata)
  const nameless = problems.some(({ path }) => path.length === 1 || path[1] === 'name' || path[1] === 'namespace')
  if (!isObject(metadata) || typeof metadata['name'] !== 'string' || nameless) return { type: 'unusable', problems }

  const { name } = metadata
  const given = typeof metadata['namespace'] === 'string' ? metadata['namespace'] : 'default'
  const namespace = kind === 'Namespace' ? '' : given
  const labels = stringsOf(metadata['labels'])
  const annotations = stringsOf(metadata['annotations'])
  const manifest = read({ value, named: { namespace, name, labels, annotations }, problems })
  if (problems.length === 0) return manifest
  return { type: 'unusable', object: { kind, namespace, name }, problems }
}

function resourceOf({ value, named, problems }: Parts, kind: Kind): Manifest {
  const { metadata: _metadata, status, ...body } = value
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_OBJECT_BYTES) {
    problems.push({ path: [], message: 'larger than 1.5 MiB, which no API server stores' })
  }
  return { type: 'resource', kind, ...named, body, status }
}

function namespaceOf({ named }: Parts): Manifest {
  return { type: 'namespace', kind: 'Namespace', namespace: '', name: named.name, labels: named.labels }
}

function secretOf({ value, named, problems }: Parts): Manifest {
  for (const member of Object.keys(value)) {
    if (!SECRET_MEMBERS.has(member)) problems.push({ path: [member], message: 'is not a member of a Secret' })
  }
  const data: Record<string, string> = {}
  for (const [key, content] of members(value, 'data', problems)) {
    if (typeof content !== 'string' || !isBase64(content)) {
      problems.push({ path: ['data', key], message: 'is not base64; plain text belongs under stringData' })
    } else data[key] = content.replaceAll(/\s/g, '')
  }
  for (const [key, content] of members(value, 'stringData', problems)) {
    if (typeof content !== 'string') problems.push({ path: ['stringData', key], message: 'is not a text; quote it' })
    else data[key] = Buffer.from(content).toString('base64')
  }
  for (const key of Object.keys(data)) {
    if (!/^[-._A-Za-z0-9]{1,253}$/.test(key)) {
      problems.push({
        path: [value['stringData'] ? 'stringData' : 'data'],
        message: 'keys are letters, digits, "-", "_" and "."',
      })
    }
  }
  if (Object.values(data).reduce((sum, content) => sum + (content.length * 3) / 4, 0) > MAX_SECRET_BYTES) {
    problems.push({ path: ['data'], message: 'larger than 1 MiB, which no API server stores' })
  }
  const metadata = isObject(value['metadata']) ? value['metadata'] : {}
  const controllerUid = controllerOf(metadata['ownerReferences'])
  const { uid, creationTimestamp } = metadata
  return {
    type: 'secret',
    kind: 'Secret',
    ...named,
    data,
    ...(typeof uid === 'string' && { uid }),
    ...(typeof creationTimestamp === 'string' && { creationTimestamp }),
    ...(controllerUid && { controllerUid }),
  }
}

function controllerOf(references: unknown): string | undefined {
  if (!Array.isArray(references)) return undefined
  const controller: unknown = references.find((reference) => isObject(reference) && reference['controller'] === true)
  return isObject(controller) && typeof controller['uid'] === 'string' ? controller['uid'] : undefined
}

function members(
  value: Record<string, unknown>,
  member: 'data' | 'stringData',
  problems: FieldProblem[],
): [string, unknown][] {
  const mapping = value[member]
  if (mapping === undefined || mapping === null) return []
  if (isObject(mapping)) return Object.entries(mapping)
  problems.push({ path: [member], message: 'has to be a mapping' })
  return []
}

/** Labels or annotations, which `metadataProblems` has checked. Leaves out values that are not strings. */
function stringsOf(mapping: unknown): Record<string, string> {
  const entries = Object.entries(isObject(mapping) ? mapping : {})
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

function unusable(path: string, message: string): UnusableManifest {
  return { type: 'unusable', problems: [{ path: path.split('.'), message }] }
}

/** RFC 1123 subdomain: a name of a resource or a Secret. */
export function isSubdomain(text: string): boolean {
  return text.length <= 253 && text.split('.').every((part) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(part))
}

/** RFC 1123 label: a name of a namespace. */
export function isLabel(text: string): boolean {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)
}

function isBase64(text: string): boolean {
  const compact = text.replaceAll(/\s/g, '')
  return compact.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(compact)
}

const SECRET_MEMBERS = new Set(['apiVersion', 'kind', 'metadata', 'type', 'immutable', 'data', 'stringData'])
