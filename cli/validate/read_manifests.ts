import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { isMap, isNode, isSeq, LineCounter, parseAllDocuments } from 'yaml'
import type { Document, Node } from 'yaml'
import { isObject } from '../../crds/validation/defaulting.ts'
import { syntaxMessage, YAML_OPTIONS } from '../../operator/source/directory/manifests/documents.ts'
import { errorCode } from '../../process/loggable.ts'
import { DEFAULT_NAMESPACE } from './manifest.ts'
import type { Manifest } from './manifest.ts'
import type { Finding } from './finding.ts'

export interface ReadResult {
  manifests: Manifest[]
  findings: Finding[]
}

const EXTENSIONS = new Set(['.yaml', '.yml', '.json'])

/** Reads the given files and the YAML and JSON files in the given folders, except hidden ones; each file once. */
export async function readManifests(paths: string[]): Promise<ReadResult> {
  const files = new Set<string>()
  const results: ReadResult[] = []
  for (const path of paths) {
    try {
      for (const file of await filesUnder(path)) files.add(file)
    } catch (error) {
      results.push(unreadable(path, error))
    }
  }
  for (const file of files) {
    try {
      results.push(parseManifests(file, await readFile(file, 'utf8')))
    } catch (error) {
      results.push(unreadable(file, error))
    }
  }
  return {
    manifests: results.flatMap(({ manifests }) => manifests),
    findings: results.flatMap(({ findings }) => findings),
  }
}

async function filesUnder(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path]
  const entries = await readdir(path, { withFileTypes: true })
  const visible = entries.filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
  const nested = visible
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(async (entry) => {
      const file = join(path, entry.name)
      if (entry.isDirectory()) return filesUnder(file)
      return EXTENSIONS.has(extname(entry.name)) ? [file] : []
    })
  return (await Promise.all(nested)).flat()
}

function unreadable(file: string, error: unknown): ReadResult {
  const code = errorCode(error)
  const message = code === 'ENOENT' ? 'no such file or folder' : `cannot be read (${code})`
  return { manifests: [], findings: [{ file, line: 1, column: 1, severity: 'error', message }] }
}

/** The objects of one text, which may hold several documents and Lists. */
export function parseManifests(file: string, text: string): ReadResult {
  const lines = new LineCounter()
  const manifests: Manifest[] = []
  const findings: Finding[] = []
  const report = (offset: number, severity: Finding['severity'], message: string) => {
    const { line, col } = lines.linePos(offset)
    findings.push({ file, line, column: col, severity, message })
  }

  const documents = parseAllDocuments(text, { ...YAML_OPTIONS, lineCounter: lines })
  for (const document of Array.isArray(documents) ? documents : []) {
    // Further errors of a document are mostly consequences of the first.
    const [error] = document.errors
    if (error) {
      report(error.pos[0], 'error', syntaxMessage(error))
      continue
    }

    const root = document.contents
    if (!isNode(root)) continue
    const value = finiteValue(document)
    if (value === undefined) {
      const message = 'nested too deeply, by an anchor inside itself or too many aliases; write the parts out'
      report(root.range?.[0] ?? 0, 'error', message)
      continue
    }
    for (const { node, object } of objectsOf(root, value)) {
      manifests.push({ file, lines, node, object, ...identityOf(object) })
    }
  }
  return { manifests, findings }
}

/** Undefined for a document that anchors make huge or endless. */
function finiteValue(document: Document): unknown {
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    JSON.stringify(value)
    return value
  } catch {
    return undefined
  }
}

function objectsOf(node: Node, value: unknown): { node: Node; object: Record<string, unknown> }[] {
  if (!isObject(value)) return []
  if (value['kind'] !== 'List' || !Array.isArray(value['items'])) return [{ node, object: value }]
  const items = isMap(node) ? node.get('items', true) : undefined
  return value['items'].flatMap((item, index) => {
    const itemNode = isSeq(items) ? items.get(index, true) : undefined
    return isNode(itemNode) ? objectsOf(itemNode, item) : []
  })
}

function identityOf(object: Record<string, unknown>): Pick<Manifest, 'apiVersion' | 'kind' | 'namespace' | 'name'> {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  return {
    apiVersion: text(object['apiVersion']),
    kind: text(object['kind']),
    namespace: text(metadata['namespace']) || DEFAULT_NAMESPACE,
    name: text(metadata['name']),
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
