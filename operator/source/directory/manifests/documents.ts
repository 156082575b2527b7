import { createHash } from 'node:crypto'
import { LineCounter, isAlias, parseAllDocuments } from 'yaml'
import type { Document, YAMLError } from 'yaml'
import { isObject } from '../../../../crds/validation/defaulting.ts'

/** One YAML document of a file. `value` is the same object for as long as the document's text stays the same. */
export interface ManifestDocument {
  value: Record<string, unknown>
  /** The document's range in the file's text, in UTF-16 units, from its `---` to the next. */
  start: number
  end: number
  /** The line on which the range starts, counted from 1. */
  line: number
}

export interface Position {
  line: number
  column: number
}

export interface ParsedText {
  documents: ManifestDocument[]
  problems: (Position & { message: string })[]
}

/** Parsing takes minutes and gigabytes for a document of 50 MiB, and no API server stores an object over 1.5 MiB. */
const MAX_DOCUMENT_LENGTH = 4 * 1024 * 1024

// prettyErrors puts lines of the file into messages, and the file may hold a Secret.
export const YAML_OPTIONS = { prettyErrors: false, merge: true, logLevel: 'silent' } as const

/**
 * Parses every document of a file. `known` caches values by digest of the document's text: one edit in a file of ten
 * thousand documents costs one parse.
 */
export async function parseDocuments(
  text: string,
  known: Map<string, ManifestDocument['value'][]>,
): Promise<ParsedText> {
  const result: ParsedText = { documents: [], problems: [] }
  const seen = new Map<string, ManifestDocument['value'][]>()
  let line = 1
  let parsed = 0

  for (const [start, end] of boundaries(text)) {
    const part = text.slice(start, end)
    const digest = createHash('sha256').update(part).digest('base64')
    let values = known.get(digest) ?? seen.get(digest)
    if (!values) {
      const fresh = parsePart(part, line)
      result.problems.push(...fresh.problems)
      values = fresh.values
      if (++parsed % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    seen.set(digest, values)
    for (const value of values) result.documents.push({ value, start, end, line })
    line += part.split('\n').length - 1
  }

  known.clear()
  if (result.problems.length === 0) for (const [digest, values] of seen) known.set(digest, values)
  return result
}

/** Line and column of the value at a path, or of its nearest ancestor that exists. */
export function positionOf(text: string, document: ManifestDocument, path: readonly (string | number)[]): Position {
  const lines = new LineCounter()
  const part = text.slice(document.start, document.end)
  const root = parseAllDocuments(part, { ...YAML_OPTIONS, lineCounter: lines }) as Document[]
  const offset = root[0] ? offsetOf(root[0], path) : 0
  const { line, col } = lines.linePos(offset)
  return { line: document.line + Math.max(line, 1) - 1, column: Math.max(col, 1) }
}

function offsetOf(root: Document, path: readonly (string | number)[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = root.getIn(path.slice(0, length), true)
    if (node && typeof node === 'object' && 'range' in node && Array.isArray(node.range) && !isAlias(node)) {
      return Number(node.range[0])
    }
  }
  return root.contents?.range?.[0] ?? 0
}

/** Splits the text before each line that begins with `---`, which always starts a document (YAML 1.2.2 section 9.1.4). */
function boundaries(text: string): [number, number][] {
  // Directives and `...` are part of a document; a file that has them is parsed as a whole.
  if (/(?:^|\n)(?:%|\.\.\.(?=[ \t\r\n]|$))/.test(text)) return [[0, text.length]]
  const starts = [0]
  for (const match of text.matchAll(/(^|\n)---(?=[ \t\r\n]|$)/g)) {
    const at = match.index + (match[1] ?? '').length
    if (at > 0) starts.push(at)
  }
  return starts.map((start, index) => [start, starts[index + 1] ?? text.length])
}

function parsePart(
  part: string,
  firstLine: number,
): { values: ManifestDocument['value'][]; problems: ParsedText['problems'] } {
  const lines = new LineCounter()
  const values: ManifestDocument['value'][] = []
  const problems: ParsedText['problems'] = []
  const at = (offset: number, message: string) => {
    const { line, col } = lines.linePos(offset)
    problems.push({ line: firstLine + Math.max(line, 1) - 1, column: Math.max(col, 1), message })
  }
  if (part.length > MAX_DOCUMENT_LENGTH) {
    at(0, `over ${MAX_DOCUMENT_LENGTH >> 20} MiB without a line "---"; split it`)
    return { values, problems }
  }

  try {
    for (const document of parseAllDocuments(part, { ...YAML_OPTIONS, lineCounter: lines }) as Document[]) {
      const [error] = document.errors
      if (error) {
        at(error.pos[0], syntaxMessage(error))
        continue
      }
      const value: unknown = document.toJS({ maxAliasCount: 100 })
      if (value === null || value === undefined) continue
      if (isObject(value)) values.push(value)
      else at(document.contents?.range?.[0] ?? 0, 'a manifest is a mapping with apiVersion, kind and metadata')
    }
  } catch {
    // There are too many aliases, or the nesting is deeper than the stack.
    at(0, 'too deeply nested, or too many aliases; write it out plainly')
  }
  return { values, problems }
}

/** Made from the parser's code, because its messages may quote the source, which may be a secret. */
export function syntaxMessage(error: YAMLError): string {
  const meaning = SYNTAX[error.code]
  return `not valid YAML: ${meaning ?? error.code.toLowerCase().replaceAll('_', ' ')}`
}

const SYNTAX: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: 'an alias (*name) without its anchor (&name)',
  BAD_DQ_ESCAPE: 'an unknown \\ escape in a double-quoted text',
  BAD_INDENT: 'wrong indentation',
  BAD_SCALAR_START: 'a plain text cannot begin with this character; quote it',
  BLOCK_AS_IMPLICIT_KEY: 'a nested mapping on one line; move it to a line of its own or quote the text',
  BLOCK_IN_FLOW: 'a block collection inside { } or [ ]',
  DUPLICATE_KEY: 'this key is already there in the same mapping',
  MISSING_CHAR: 'something is missing here (a colon, a comma, a closing quote or bracket)',
  MULTILINE_IMPLICIT_KEY: 'a key runs over several lines; is a colon or a quote missing?',
  RESOURCE_EXHAUSTION: 'too deeply nested',
  TAB_AS_INDENT: 'a tab as indentation; use spaces',
  TAG_RESOLVE_FAILED: 'a tag (!name) that is not known',
  UNEXPECTED_TOKEN: 'unexpected text; check the indentation and quotes around it',
}
