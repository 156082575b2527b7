import { isAlias, isCollection, isMap, isPair, isScalar, isSeq, parseAllDocuments } from 'yaml'
import type { Document, Node, Pair, YAMLMap, YAMLSeq } from 'yaml'
import { isObject } from '../../../crds/validation/defaulting.ts'
import { canonicalText } from '../../../process/canonical_json.ts'
import { YAML_OPTIONS } from '../../../operator/source/directory/manifests/documents.ts'
import type { Approval } from '../../../operator/source/directory/state/stored_object.ts'
import { PlainError } from '../../../process/plain_error.ts'
import { blockEntry, flowEntry } from './entry_text.ts'

interface Splice {
  at: number
  end: number
  text: string
}

/**
 * The text of a document (or of several, of which `isTarget` picks one) with an entry in `status.approvals`: in the
 * place of the entry of the same approver, else after the last. Every other byte stays. Throws PlainError where the
 * document is written in a way that cannot be spliced safely.
 */
export function withApproval(text: string, isTarget: (value: unknown) => boolean, entry: Approval): string {
  const before = parse(text)
  const target = before.find((document) => isTarget(document.toJS()))
  if (!target || !isMap(target.contents)) throw unsafe('its document was not found')

  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const { at, end, text: inserted } = spliceOf({ text, entry, eol }, target.contents)
  const after = text.slice(0, at) + inserted + text.slice(end)
  // Parses the result: an anchor, a tag or a merge key shows as another value.
  const expected = before.map((document) => (document === target ? withEntry(document.toJS(), entry) : document.toJS()))
  const found = parse(after).map((document): unknown => document.toJS())
  if (canonicalText(found) !== canonicalText(expected))
    throw unsafe('its status uses YAML that this command cannot edit')
  return after
}

/** The text of a file, and the entry to insert. */
interface Edit {
  text: string
  entry: Approval
  eol: string
}

type Member = 'status' | 'approvals'

function spliceOf(edit: Edit, root: YAMLMap): Splice {
  const status = pairOf(root, 'status')
  if (!status) return addMember(edit, root, 'status')
  if (isEmpty(status.value)) return fillMember(edit, root, status, 'status')
  if (!isMap(status.value)) throw unsafe('its status is no mapping')

  const approvals = pairOf(status.value, 'approvals')
  if (!approvals) return addMember(edit, status.value, 'approvals')
  if (isEmpty(approvals.value)) return fillMember(edit, status.value, approvals, 'approvals')
  if (!isSeq(approvals.value)) throw unsafe('its status.approvals is no list')
  return intoList(edit, approvals.value)
}

function intoList(edit: Edit, list: YAMLSeq): Splice {
  const { text, entry, eol } = edit
  const own = list.items.filter((item) => isMap(item) && item.get('approver') === entry.approver)
  const [former] = own
  if (own.length > 1) throw unsafe(`status.approvals has several entries of ${entry.approver}`)
  if (isMap(former) && former.range) {
    const at = former.range[0]
    if (former.flow) return { at, end: former.range[1], text: flowEntry(entry) }
    const end = endOf(former)
    const lines = blockEntry(entry).join(eol + ' '.repeat(columnOf(text, at)))
    return { at, end, text: text[end - 1] === '\n' ? lines + eol : lines }
  }
  if (list.flow) return intoFlow(list, flowEntry(entry))
  const column = columnOf(text, list.range?.[0] ?? 0)
  return afterLines(edit, endOf(list), column, itemLines(entry, column))
}

/** Adds a missing member: `approvals` in a status, or `status` in a document. */
function addMember(edit: Edit, map: YAMLMap, name: Member): Splice {
  if (map.flow) return intoFlow(map, `"${name}": ${flowValue(name, edit.entry)}`)
  const column = columnOf(edit.text, startOf(map.items[0]))
  return afterLines(edit, endOf(map), column, memberLines(name, edit.entry, column))
}

/** Fills a member without a value, `null` or `~`. (`{}` and `[]` are collections.) */
function fillMember(edit: Edit, map: YAMLMap, pair: Pair, name: Member): Splice {
  const [start, end] = isScalar(pair.value) && pair.value.range ? pair.value.range : [0, 0]
  if (end > start) return { at: start, end, text: flowValue(name, edit.entry) }
  if (map.flow) throw unsafe(`its ${name} is empty`)
  const column = columnOf(edit.text, startOf(pair))
  const [, ...lines] = memberLines(name, edit.entry, column)
  // The comment on the line of the key, if there is one, stays there.
  const keyEnd = isScalar(pair.key) ? (pair.key.range?.[1] ?? 0) : 0
  return afterLines(edit, keyEnd, Number.POSITIVE_INFINITY, lines)
}

/** Inserts whole lines after the line on which something ends, and after the comments that are indented deeper. */
function afterLines({ text, eol }: Edit, end: number, column: number, lines: string[]): Splice {
  let at = end
  if (text[at - 1] !== '\n') {
    const lineEnd = text.indexOf('\n', at)
    // The last line of a file may have no end.
    if (lineEnd < 0) return { at: text.length, end: text.length, text: eol + lines.join(eol) }
    at = lineEnd + 1
  }
  for (const comment of text.slice(at).matchAll(/([ \t]*)#[^\n]*(\n|$)/gy)) {
    if ((comment[1] ?? '').length <= column) break
    at += comment[0].length
  }
  const before = at > 0 && text[at - 1] !== '\n' ? eol : ''
  return { at, end: at, text: before + lines.map((line) => line + eol).join('') }
}

function flowValue(name: Member, entry: Approval): string {
  const list = `[${flowEntry(entry)}]`
  return name === 'status' ? `{"approvals": ${list}}` : list
}

function memberLines(name: Member, entry: Approval, column: number): string[] {
  const indent = ' '.repeat(column)
  if (name === 'approvals') return [`${indent}approvals:`, ...itemLines(entry, column + 2)]
  return [`${indent}status:`, `${indent}  approvals:`, ...itemLines(entry, column + 4)]
}

function itemLines(entry: Approval, column: number): string[] {
  return blockEntry(entry).map((line, index) => `${' '.repeat(column)}${index === 0 ? '- ' : '  '}${line}`)
}

function intoFlow(collection: YAMLMap | YAMLSeq, text: string): Splice {
  const last = collection.items.at(-1)
  if (last === undefined) {
    const open = (collection.range?.[0] ?? 0) + 1
    return { at: open, end: open, text }
  }
  const end = endOf(last)
  return { at: end, end, text: `, ${text}` }
}

function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find(({ key }) => isScalar(key) && key.value === name)
}

function isEmpty(value: unknown): boolean {
  return value === null || (isScalar(value) && value.value === null)
}

function startOf(item: unknown): number {
  if (isPair(item)) return startOf(item.key)
  return isNode(item) ? (item.range?.[0] ?? 0) : 0
}

/** The end of an item, without comments and blank lines after it. */
function endOf(item: unknown): number {
  if (isPair(item)) return isNode(item.value) ? Math.max(endOf(item.value), endOf(item.key)) : endOf(item.key)
  if (!isNode(item) || !item.range) return 0
  if (isCollection(item) && !item.flow && item.items.length > 0) return endOf(item.items.at(-1))
  return item.range[1]
}

function isNode(value: unknown): value is Node {
  return isScalar(value) || isCollection(value) || isAlias(value)
}

function columnOf(text: string, offset: number): number {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  // A byte order mark stands before the first column.
  return offset - (lineStart === 0 && text.startsWith('\uFEFF') ? 1 : lineStart)
}

function parse(text: string): Document[] {
  const documents = parseAllDocuments(text, YAML_OPTIONS)
  if (!Array.isArray(documents) || documents.some(({ errors }) => errors.length > 0))
    throw unsafe('its document is not valid YAML')
  return documents
}

function withEntry(value: unknown, entry: Approval): unknown {
  const object = isObject(value) ? value : {}
  const status = isObject(object['status']) ? object['status'] : {}
  const approvals: unknown[] = Array.isArray(status['approvals']) ? [...status['approvals']] : []
  const index = approvals.findIndex((one) => isObject(one) && one['approver'] === entry.approver)
  approvals.splice(index < 0 ? approvals.length : index, index < 0 ? 0 : 1, entry)
  return { ...object, status: { ...status, approvals } }
}

function unsafe(why: string): PlainError {
  return new PlainError(
    `the decision cannot be added without changing the rest of the file: ${why}; write status.approvals as a plain list`,
  )
}
