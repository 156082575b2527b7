import type { LineCounter } from 'yaml'
import { isCollection, isMap, isNode, isScalar } from 'yaml'
import type { Node } from 'yaml'
import { pathText } from '../../crds/validation/problem.ts'
import type { Problem } from '../../crds/validation/problem.ts'
import type { Finding, Severity } from './finding.ts'

/** One object of a file, with the nodes that give the line of each field. */
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

/** kubectl uses it for objects without a namespace, unless the context names another. */
export const DEFAULT_NAMESPACE = 'default'

export function describe({ kind, namespace, name }: Pick<Manifest, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace}/${name}`
}

/** A finding about a field; a missing field gets the position of the nearest parent that exists. */
export function findingAt(manifest: Manifest, severity: Severity, path: Problem['path'], message: string): Finding {
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

/** The offset of a scalar, of the key of a collection, or of the nearest existing parent of a missing field. */
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
