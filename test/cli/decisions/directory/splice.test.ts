import { describe, expect, test } from 'vitest'
import { withApproval } from '../../../../cli/decisions/directory/splice.ts'
import type { Approval } from '../../../../operator/source/directory/state/stored_object.ts'

const entry: Approval = {
  approver: 'carol',
  decision: 'Approved',
  observedGeneration: 3,
  observedUID: 'uid-1',
  decidedAt: '2030-01-01T00:00:00Z',
}
const flow =
  '{"approver": "carol", "decision": "Approved", "observedGeneration": 3, "observedUID": "uid-1", "decidedAt": "2030-01-01T00:00:00Z"}'

/** The entry as a block item at a column. */
function block(column: number, eol = '\n'): string {
  const indent = ' '.repeat(column)
  return [
    `${indent}- approver: carol`,
    `${indent}  decision: Approved`,
    `${indent}  observedGeneration: 3`,
    `${indent}  observedUID: "uid-1"`,
    `${indent}  decidedAt: "2030-01-01T00:00:00Z"`,
    '',
  ].join(eol)
}

const isTarget = (value: unknown) =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'RA'

/** [what, before, after] */
const rows: [string, string, string][] = [
  ['no status', 'kind: RA\nspec:\n  a: 1\n', `kind: RA\nspec:\n  a: 1\nstatus:\n  approvals:\n${block(4)}`],
  [
    'no status, no newline at the end',
    'kind: RA\nspec: {a: 1}',
    `kind: RA\nspec: {a: 1}\nstatus:\n  approvals:\n${block(4).slice(0, -1)}`,
  ],
  [
    'CRLF',
    'kind: RA\r\nspec:\r\n  a: 1\r\n',
    `kind: RA\r\nspec:\r\n  a: 1\r\nstatus:\r\n  approvals:\r\n${block(4, '\r\n')}`,
  ],
  [
    'a comment on the last line',
    'kind: RA\nspec:\n  a: 1 # one\n',
    `kind: RA\nspec:\n  a: 1 # one\nstatus:\n  approvals:\n${block(4)}`,
  ],
  [
    'commented-out items of the last list stay with it',
    'kind: RA\nspec:\n  a:\n    - x\n    # - y\n# end\n',
    `kind: RA\nspec:\n  a:\n    - x\n    # - y\nstatus:\n  approvals:\n${block(4)}# end\n`,
  ],
  ['blank lines at the end', 'kind: RA\nspec: 1\n\n\n', `kind: RA\nspec: 1\nstatus:\n  approvals:\n${block(4)}\n\n`],
  [
    'a block scalar that keeps its blank lines',
    'kind: RA\nspec: |+\n  text\n\n\n',
    `kind: RA\nspec: |+\n  text\n\n\nstatus:\n  approvals:\n${block(4)}`,
  ],
  [
    'a folded scalar without newline at the end',
    'kind: RA\nspec: >-\n  te\n  xt',
    `kind: RA\nspec: >-\n  te\n  xt\nstatus:\n  approvals:\n${block(4).slice(0, -1)}`,
  ],
  [
    'a document marker with a comment',
    '--- # first\nkind: RA\n',
    `--- # first\nkind: RA\nstatus:\n  approvals:\n${block(4)}`,
  ],
  ['a byte order mark', '\uFEFFkind: RA\n', `\uFEFFkind: RA\nstatus:\n  approvals:\n${block(4)}`],
  ['an indented document', '  kind: RA\n  spec: 1\n', `  kind: RA\n  spec: 1\n  status:\n    approvals:\n${block(6)}`],
  ['status first', 'status:\n  x: 1\nkind: RA\n', `status:\n  x: 1\n  approvals:\n${block(4)}kind: RA\n`],
  [
    'status: {}',
    'kind: RA\nstatus: {} # mine\nspec: 1\n',
    `kind: RA\nstatus: {"approvals": [${flow}]} # mine\nspec: 1\n`,
  ],
  [
    'status empty',
    'kind: RA\nstatus: # mine\nspec: 1\n',
    `kind: RA\nstatus: # mine\n  approvals:\n${block(4)}spec: 1\n`,
  ],
  [
    'status empty at the end, no newline',
    'kind: RA\nstatus:',
    `kind: RA\nstatus:\n  approvals:\n${block(4).slice(0, -1)}`,
  ],
  ['status: null', 'kind: RA\nstatus: null # x\n', `kind: RA\nstatus: {"approvals": [${flow}]} # x\n`],
  ['status: ~', 'kind: RA\nstatus: ~\n', `kind: RA\nstatus: {"approvals": [${flow}]}\n`],
  [
    'status without approvals',
    'kind: RA\nstatus:\n    conditions: []\n',
    `kind: RA\nstatus:\n    conditions: []\n    approvals:\n${block(6)}`,
  ],
  [
    'approvals: []',
    'kind: RA\nstatus:\n  approvals: []\n  x: 1\n',
    `kind: RA\nstatus:\n  approvals: [${flow}]\n  x: 1\n`,
  ],
  [
    'approvals empty',
    'kind: RA\nstatus:\n  approvals:\n  x: 1\n',
    `kind: RA\nstatus:\n  approvals:\n${block(4)}  x: 1\n`,
  ],
  [
    'approvals of another',
    'kind: RA\nstatus:\n  approvals:\n  - approver: ann # first\n    decision: Denied\n  x: 1\n',
    `kind: RA\nstatus:\n  approvals:\n  - approver: ann # first\n    decision: Denied\n${block(2)}  x: 1\n`,
  ],
  [
    'approvals of another, at the end',
    'kind: RA\nstatus:\n  approvals:\n      - approver: ann\n',
    `kind: RA\nstatus:\n  approvals:\n      - approver: ann\n${block(6)}`,
  ],
  [
    'approvals in flow style',
    'kind: RA\nstatus: {approvals: [{approver: ann}], x: 1}\n',
    `kind: RA\nstatus: {approvals: [{approver: ann}, ${flow}], x: 1}\n`,
  ],
  [
    'approvals in flow style over lines',
    'kind: RA\nstatus:\n  approvals: [\n    {approver: ann}, # a\n  ]\n',
    `kind: RA\nstatus:\n  approvals: [\n    {approver: ann}, ${flow}, # a\n  ]\n`,
  ],
  [
    'status in flow style without approvals',
    'kind: RA\nstatus: {x: 1}\n',
    `kind: RA\nstatus: {x: 1, "approvals": [${flow}]}\n`,
  ],
  [
    'a document in flow style',
    '{kind: RA, spec: {a: 1}}\n',
    `{kind: RA, spec: {a: 1}, "status": {"approvals": [${flow}]}}\n`,
  ],
  [
    'JSON',
    '{\n  "kind": "RA",\n  "spec": [1]\n}\n',
    `{\n  "kind": "RA",\n  "spec": [1], "status": {"approvals": [${flow}]}\n}\n`,
  ],
  ['JSON with status', '{"kind":"RA","status":{"approvals":[]}}', `{"kind":"RA","status":{"approvals":[${flow}]}}`],
  [
    'own entry, block',
    'kind: RA\nstatus:\n  approvals:\n  - approver: carol\n    decision: Denied # why\n  - approver: ann\n',
    `kind: RA\nstatus:\n  approvals:\n${block(2).trimEnd()} # why\n  - approver: ann\n`,
  ],
  [
    'own entry with a block scalar at its end',
    'kind: RA\nstatus:\n  approvals:\n  - approver: carol\n    comment: |\n      no\n  - approver: ann\n',
    `kind: RA\nstatus:\n  approvals:\n${block(2)}  - approver: ann\n`,
  ],
  [
    'own entry on the line below its dash',
    'kind: RA\nstatus:\n  approvals:\n  -\n    approver: carol\n    decision: Denied\n',
    `kind: RA\nstatus:\n  approvals:\n  -\n${block(2).replace('  - ', '    ')}`,
  ],
  [
    'own entry, flow in block',
    'kind: RA\nstatus:\n  approvals:\n  - {approver: carol, decision: Denied}\n',
    `kind: RA\nstatus:\n  approvals:\n  - ${flow}\n`,
  ],
  [
    'own entry, flow',
    'kind: RA\nstatus: {approvals: [{approver: carol}, {approver: ann}]}\n',
    `kind: RA\nstatus: {approvals: [${flow}, {approver: ann}]}\n`,
  ],
  [
    'several documents',
    '# head\nkind: A\n...\n---\nkind: RA\n---\nkind: B\n',
    `# head\nkind: A\n...\n---\nkind: RA\nstatus:\n  approvals:\n${block(4)}---\nkind: B\n`,
  ],
  [
    'tabs, quotes and odd spaces elsewhere',
    "kind:   \"RA\"  \nspec:  'it''s'\t# tab\n",
    `kind:   "RA"  \nspec:  'it''s'\t# tab\nstatus:\n  approvals:\n${block(4)}`,
  ],
]

describe('an entry is spliced in and every other byte stays', () => {
  test.each(rows)('%s', (_what, before, after) => {
    expect(withApproval(before, isTarget, entry)).toBe(after)
  })
})

describe('what cannot be spliced safely is refused', () => {
  test.each([
    ['status is an alias', 'x: &s {a: 1}\nkind: RA\nstatus: *s\n'],
    ['approvals is an alias', 'x: &s []\nkind: RA\nstatus:\n  approvals: *s\n'],
    ['status comes with a merge key', 'x: &s {approvals: [{approver: ann}]}\nkind: RA\nstatus:\n  <<: *s\n'],
    ['status is a text', 'kind: RA\nstatus: ok\n'],
    ['approvals is a text', 'kind: RA\nstatus:\n  approvals: ok\n'],
    ['two entries of the approver', 'kind: RA\nstatus: {approvals: [{approver: carol}, {approver: carol}]}\n'],
    ['no such document', 'kind: B\n'],
    [
      'the own entry carries an anchor that is used',
      'kind: RA\nstatus:\n  approvals:\n  - &e {approver: carol}\n  x: *e\n',
    ],
  ])('%s', (_what, text) => {
    expect(() => withApproval(text, isTarget, entry)).toThrow('without changing the rest of the file')
  })
})

test('names and comments of any kind survive', () => {
  const odd = [
    'yes',
    'null',
    '- x',
    '"',
    "'",
    '#c',
    'a: b',
    'ann@example.com',
    '\u0085\u2028\u{1F600}\t\n\\',
    '0777',
    '2030-01-01',
    ' ',
    '*a',
    '%',
  ]
  for (const approver of odd) {
    for (const before of ['kind: RA\n', '{"kind":"RA"}']) {
      // withApproval reads back what it wrote and refuses what differs.
      expect(withApproval(before, isTarget, { ...entry, approver, comment: approver })).toContain('approver')
    }
  }
})
