import { beforeAll, expect, test } from 'vitest'
import { addFieldPairs } from '../../keyring/field_pairs.ts'
import type { FieldPair, Keyring } from '../../keyring/keyring.ts'
import { sampleKeyring } from './sample_keyring.ts'

let keyring: Keyring
beforeAll(async () => {
  keyring = { ...(await sampleKeyring()), fields: [pair('dateOfBirth', 'dob'), pair('old', 'gone', 'Subject')] }
})

function pair(field: string, tag: string, binding: FieldPair['binding'] = 'Realm'): FieldPair {
  return { field, tag, binding }
}

test('known fields are served and nothing is to be written', () => {
  const result = addFieldPairs(keyring, [pair('dateOfBirth', 'dob')])
  expect(result).toMatchObject({ changed: false, refused: [], served: [pair('dateOfBirth', 'dob')] })
  expect(result.keyring).toBe(keyring)
})

test('new fields are added, and removed fields stay', () => {
  const result = addFieldPairs(keyring, [pair('ssn', 'ssn', 'Subject')])
  expect(result.changed).toBe(true)
  expect(result.keyring.fields).toEqual([...keyring.fields, pair('ssn', 'ssn', 'Subject')])
  expect(keyring.fields).toHaveLength(2)
})

const contradictions: [string, FieldPair, string][] = [
  ['another tag for a field', pair('dateOfBirth', 'birth'), 'has the tag "dob" for ever'],
  ['another binding for a field', pair('dateOfBirth', 'dob', 'Subject'), 'has the binding Realm for ever'],
  ['the tag of another field', pair('dogOfBarbara', 'dob'), 'belongs to the field "dateOfBirth"'],
  ['the tag of a removed field', pair('new', 'gone', 'Subject'), 'belongs to the field "old"'],
  ['a removed field under another tag', pair('old', 'back', 'Subject'), 'has the tag "gone" for ever'],
]

test.each(contradictions)('%s is refused, the others are served', (_, wanted, message) => {
  const result = addFieldPairs(keyring, [wanted, pair('city', 'city')])
  expect(result.refused).toEqual([{ ...wanted, message: expect.stringContaining(message) }])
  expect(result.served).toEqual([pair('city', 'city')])
  expect(result.keyring.fields).toHaveLength(3)
})

test('two new fields with one tag: the first has it', () => {
  const result = addFieldPairs(keyring, [pair('a', 'same'), pair('b', 'same')])
  expect(result.served).toEqual([pair('a', 'same')])
  expect(result.refused).toHaveLength(1)
})

test('a thousand fields are enough', () => {
  const many = Array.from({ length: 1100 }, (_, at) => pair(`field${at}`, `tag${at}`))
  const result = addFieldPairs(keyring, many)
  expect(result.keyring.fields).toHaveLength(1024)
  expect(result.refused).toHaveLength(1100 - 1022)
})
