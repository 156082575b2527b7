import type { LineCounter } from 'yaml'
import { isCollection, isMap, isNode, isScalar } from 'yaml'
import type { Node } from 'yaml'
import { pathText } from '../../crds/validation/problem.ts'
import type { Problem } from '../../crds/validation/problem.ts'
import type { Finding, Severity } from './finding.ts'

/** One object of a file, with the way back from its fields to lines. */
export interface Manifest {
  file: string
  apiVersion: string
  kind: string
  namespace: string
  name: string
  /** As parsed, before defaulting. */
  object: Record<string, unknown>
  node: Node
  lines: LineCounter
}

/** Where kubectl puts what names no namespace, with a fresh kubeconfig. */
export const DEFAULT_NAMESPACE = 'default'

export function describe({ kind, namespace, name }: Pick<Manifest, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace}/${name}`
}

/** A finding about a field. A field that is not there is looked for where it would stand. */
export function findingAt(manifest: Manifest, severity: Severity, { path, message }: Problem): Finding {
  const { line, col } = manifest.lines.linePos(offsetOf(manifest.node, path))
  return {
    file: manifest.file,
    line,
    column: col,
    severity,
    object: describe(manifest),
    ...(path.length > 0 && { field: pathText(path) }),
    message,
  }
}

/** The offset of a scalar itself, of a group's key, or of the nearest thing around a field that is absent. */
function offsetOf(root: Node, path: Problem['path']): number {
  let node: unknown = root
  let offset = root.range?.[0] ?? 0
  for (const step of path) {
    if (!isCollection(node)) return offset
    const key = isMap(node) ? node.items.find((pair) => isScalar(pair.key) && pair.key.value === step)?.key : undefined
    if (isNode(key) && key.range) offset = key.range[0]
    node = node.get(step, true)
    if (!isNode(node) || !node.range) return offset
    if (!isCollection(node) || key === undefined) offset = node.range[0]
  }
  return offset
}
