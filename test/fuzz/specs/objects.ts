import { kindSchema } from '../../../crds/schemas.ts'
import type { StructuralSchema } from '../../../crds/schemas.ts'
import { clientCases } from '../../crds/cases/client_cases.ts'
import { realmCases } from '../../crds/cases/realm_cases.ts'
import { roleAssignmentCases } from '../../crds/cases/role_assignment_cases.ts'
import { userCases } from '../../crds/cases/user_cases.ts'
import type { Written } from '../../crds/cases/case.ts'
import { below, pick } from '../../support/random.ts'
import type { Random } from '../../support/random.ts'
import { oddValue } from '../http/odd_values.ts'

export const NAMESPACE = 'fuzz'
/** Realms that random objects refer to. `realm-0` to `realm-3` are written by the run. */
const REALMS = ['realm-0', 'realm-1', 'realm-2', 'realm-3', 'nowhere']
export const SECRETS = ['good', 'long', 'short', 'empty', 'binary', 'other-entry', 'missing']
const NAMES = Array.from({ length: 20 }, (_, at) => `name-${at}`)

const CASES = [realmCases, clientCases, userCases, roleAssignmentCases]

/** An object of one of the four kinds: a valid one, most often with a few fields at or beyond their bounds. */
export function randomObject(random: Random): Written {
  const { kind, valid, smallest, alsoValid } = pick(CASES, random)
  const isFull = random() < 0.5
  const object = isFull ? valid() : smallest()
  if (isFull && alsoValid.length > 0 && random() < 0.4) pick(alsoValid, random).change(object)
  place(object, kind, random)
  const changes = random() < 0.3 ? 0 : 1 + below(3, random)
  const schema = kindSchema(kind)?.schema.properties?.['spec'] ?? {}
  for (let change = 0; change < changes; change++) object.spec = changed(object.spec, schema, random)
  return object
}

/** Gives it a name and references of this run, most of which exist. */
function place(object: Written, kind: string, random: Random): void {
  const { spec } = object
  delete object.status
  const name = kind === 'Realm' ? pick(REALMS.slice(0, 4), random) : pick(NAMES, random)
  object.metadata = { name, namespace: NAMESPACE, ...(random() < 0.2 && { annotations: randomAnnotation(random) }) }
  if (kind === 'Realm') {
    if (spec.realm !== undefined) spec.realm = name
    // A governed Realm stays governed, which the author must not change back.
    if (random() < 0.7) delete spec.identityGovernance
    if (spec.passwordHashing) spec.passwordHashing = { memoryKiB: 1024, iterations: 1, parallelism: 1 }
    return
  }
  spec.realmRef = { name: pick(REALMS, random) }
  if (spec.clientId !== undefined) spec.clientId = pick(NAMES, random)
  if (spec.clientSecret?.secretRef) spec.clientSecret.secretRef.name = pick(SECRETS, random)
  if (spec.username !== undefined) spec.username = pick(NAMES, random)
  if (spec.passwordSecretRef) spec.passwordSecretRef.name = pick(SECRETS, random)
  if (kind === 'User' && spec.passwordSecretRef === undefined) spec.passwordSecretRef = { name: pick(SECRETS, random) }
  if (kind === 'User') delete spec.subject
  if (kind === 'RoleAssignment') {
    spec.subject.name = pick(NAMES, random)
    spec.requestedBy = 'bob'
    delete spec.submittedBy
    delete spec.formerRequesters
  }
}

/** Most updates that change these members are refused for that alone. */
export function keepImmutable(object: Written, present: Written): void {
  if (!isRecord(object.spec)) return
  for (const name of ['realm', 'realmRef', 'clientId', 'username', 'subject']) {
    const value: unknown = present.spec[name]
    if (value === undefined) delete object.spec[name]
    else object.spec[name] = value
  }
}

const ANNOTATIONS = [
  'realmkeeper.io/paused',
  'realmkeeper.io/accept-keyring',
  'realmkeeper.io/accept-key-loss',
  'realmkeeper.io/confirm-governance',
  'realmkeeper.io/transfer-realm-to',
  'realmkeeper.io/unknown',
]

function randomAnnotation(random: Random): Record<string, string> {
  return { [pick(ANNOTATIONS, random)]: pick(['true', 'false', '', 'x'.repeat(10_000), '{"a":1}', '\u0000'], random) }
}

/** This value with one part changed, as its schema suggests. */
function changed(value: unknown, schema: StructuralSchema, random: Random): unknown {
  if (random() < 0.05) return oddValue(random)
  const { properties, items } = schema
  if (properties && isRecord(value)) {
    if (random() < 0.05) return { ...value, [pick(['unknown', 'Spec', '__proto__', ''], random)]: oddValue(random) }
    const name = pick(Object.keys(properties), random)
    const { [name]: present, ...rest } = value
    if (random() < 0.1) return rest
    return { ...rest, [name]: changed(present ?? boundary(properties[name]!, random), properties[name]!, random) }
  }
  if (items && Array.isArray(value) && value.length > 0 && random() < 0.6) {
    const at = below(value.length, random)
    return value.map((each, index) => (index === at ? changed(each, items, random) : each))
  }
  return boundary(schema, random)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value at a bound of the schema, or just beyond. */
function boundary(schema: StructuralSchema, random: Random): unknown {
  if (random() < 0.05) return null
  switch (schema.type) {
    case 'string':
      return pick(schema.enum ? [...schema.enum, 'Unknown'] : stringsFor(schema), random)
    case 'integer': {
      const { minimum = 0, maximum = 2 ** 31 - 1 } = schema
      return pick(
        [minimum, minimum, maximum, maximum, minimum - 1, maximum + 1, minimum + 1, 1.5, '1', 2 ** 53],
        random,
      )
    }
    case 'boolean':
      return pick([true, false, true, false, 'true', 1], random)
    case 'array': {
      const count = pick([0, 1, 2, schema.maxItems ?? 64, (schema.maxItems ?? 64) + 1], random)
      const { items = {} } = schema
      return Array.from({ length: count }, (_, at) =>
        items.type === 'string' ? `item-${at}` : itemOf(items, at, random),
      )
    }
    default:
      return schema.properties ? itemOf(schema, 0, random) : pick([{}, { a: 'b' }, { a: ['b'] }, { a: [] }, []], random)
  }
}

function itemOf({ properties = {}, required = [] }: StructuralSchema, at: number, random: Random): unknown {
  const names = Object.keys(properties).filter((name) => required.includes(name) || random() < 0.3)
  return Object.fromEntries(
    names.map((name) => {
      const property = properties[name]!
      const isText = property.type === 'string' && !property.enum
      return [name, isText ? `${name}-${at}` : boundary(property, random)]
    }),
  )
}

function stringsFor({ minLength = 0, maxLength = 4_096, format }: StructuralSchema): string[] {
  if (format === 'date-time')
    return ['2030-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999+14:00', 'x']
  return [
    'x'.repeat(maxLength),
    'x'.repeat(maxLength),
    'x'.repeat(maxLength + 1),
    'x'.repeat(minLength),
    'x',
    'a b',
    'ünïcödé 🎂',
    'a\nb',
    '\u001b[31mred',
    'https://example.com/x',
    '_svc_dob.selfencrypt',
    'default-roles-realm-0',
    'x'.repeat(300_000),
  ]
}
