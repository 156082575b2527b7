import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { API_VERSION, API_VERSIONS } from '../../crds/group.ts'
import { KIND_NAMES, kindSchema } from '../../crds/schemas.ts'
import type { StructuralSchema } from '../../crds/schemas.ts'
import { outdatedFiles } from '../../scripts/generate.ts'
import { ROOT } from '../support/source_files.ts'

const crds = KIND_NAMES.map((kind) => kindSchema(kind)!)

/** Every schema under one, with its path. */
function all(schema: StructuralSchema, path: string): [path: string, schema: StructuralSchema][] {
  return [
    [path, schema],
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => all(field, `${path}.${name}`)),
    ...(schema.items ? all(schema.items, `${path}[]`) : []),
    ...(schema.additionalProperties ? all(schema.additionalProperties, `${path}{}`) : []),
  ]
}

const schemas = crds.flatMap(({ kind, schema }) => all(schema, kind))
/** The schemas without metadata, which the API server describes. */
const own = schemas.filter(([path]) => !path.endsWith('.metadata'))

function pathsOf(broken: (schema: StructuralSchema) => boolean): string[] {
  return own.filter(([, schema]) => broken(schema)).map(([path]) => path)
}

test('the schemas are not empty', () => {
  expect(crds.map(({ kind }) => kind)).toEqual(['Realm', 'Client', 'User', 'RoleAssignment'])
  expect(own.length).toBeGreaterThan(150)
})

test('both versions are served with one schema, and one is stored', () => {
  for (const path of globSync('crds/*.yaml', { cwd: ROOT })) {
    const { spec } = parse(readFileSync(join(ROOT, path), 'utf8'))
    const [present, former, ...others] = spec.versions
    expect(others).toEqual([])
    expect([present, former].map(({ name }) => `${spec.group}/${name}`)).toEqual(API_VERSIONS)
    expect([present, former].map(({ served, storage }) => ({ served, storage }))).toEqual([
      { served: true, storage: true },
      { served: true, storage: false },
    ])
    for (const member of ['schema', 'subresources', 'additionalPrinterColumns'])
      expect(former[member]).toEqual(present[member])
    expect(spec.conversion).toBeUndefined()
  }
  for (const { apiVersion } of crds) expect(apiVersion).toBe(API_VERSION)
})

test('every field is described, in a sentence', () => {
  expect(pathsOf(({ description }) => !description || !/\S\.$/.test(description))).toEqual([])
})

test('every text is bounded', () => {
  const bounded = ({ type, enum: values, maxLength }: StructuralSchema) =>
    type !== 'string' || values || maxLength !== undefined
  const fixed = /^[A-Za-z]+\.(apiVersion|kind)$/
  expect(pathsOf((schema) => !bounded(schema)).filter((path) => !fixed.test(path))).toEqual([])
})

test('every list and map is bounded, and every list has a list type', () => {
  expect(pathsOf(({ type, maxItems }) => type === 'array' && maxItems === undefined)).toEqual([])
  expect(pathsOf((schema) => schema.type === 'array' && !schema['x-kubernetes-list-type'])).toEqual([])
  expect(pathsOf((schema) => schema.additionalProperties !== undefined && schema.maxProperties === undefined)).toEqual(
    [],
  )
})

test('every integer has a format and a minimum', () => {
  expect(pathsOf(({ type, format, minimum }) => type === 'integer' && (!format || minimum === undefined))).toEqual([])
})

test('every rule has a message on one line', () => {
  const rules = own.flatMap(([path, schema]) =>
    (schema['x-kubernetes-validations'] ?? []).map((rule) => ({ path, rule })),
  )
  expect(rules.length).toBeGreaterThan(20)
  expect(rules.filter(({ rule }) => !rule.message || rule.message.includes('\n'))).toEqual([])
})

test('a fieldPath names a field', () => {
  const known = new Set(schemas.map(([path]) => path))
  const named = own.flatMap(([path, schema]) =>
    (schema['x-kubernetes-validations'] ?? []).flatMap(({ fieldPath }) => (fieldPath ? [path + fieldPath] : [])),
  )
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((path) => !known.has(path))).toEqual([])
})

test('no rule on oldSelf is on an optional field, because it would not run when the field is removed', () => {
  const required = (path: string): boolean => {
    const parent = path.slice(0, path.lastIndexOf('.'))
    if (!parent || !parent.includes('.')) return true
    const schema = schemas.find(([other]) => other === parent)?.[1]
    return Boolean(schema?.required?.includes(path.slice(parent.length + 1))) && required(parent)
  }
  const transitions = own.filter(([, schema]) =>
    (schema['x-kubernetes-validations'] ?? []).some(({ rule }) => rule.includes('oldSelf')),
  )
  expect(transitions.length).toBeGreaterThan(5)
  expect(transitions.map(([path]) => path).filter((path) => !required(path))).toEqual([])
})

test('no rule is on a group with a default, because it would run before the defaults of its fields', () => {
  expect(pathsOf((schema) => schema.default !== undefined && Boolean(schema['x-kubernetes-validations']))).toEqual([])
})

test('the generated files equal a fresh generation', async () => {
  expect(await outdatedFiles()).toEqual([])
})
