import { commonInvalid, condition, realmRefInvalid, realmRefUpdates, written } from './case.ts'
import type { KindCases } from './case.ts'

/** The longest values of an attribute. */
const values = (count: number): string[] => Array.from({ length: count }, () => 'v'.repeat(1_024))

export const userCases: KindCases = {
  kind: 'User',
  smallest: () => written('User', 'alice', { realmRef: { name: 'shop' }, username: 'alice' }),
  valid: () =>
    written(
      'User',
      'alice',
      {
        realmRef: { name: 'shop', namespace: 'platform' },
        username: 'Alice Müller',
        email: 'alice@example.com',
        emailVerified: true,
        firstName: 'Alice',
        lastName: 'Müller',
        enabled: true,
        passwordSecretRef: { name: 'alice', key: 'password' },
        attributes: { department: ['sales', 'support'] },
        subject: 'alice-0001',
      },
      { observedGeneration: 1, subject: 'alice-0001', conditions: [{ ...condition }] },
    ),
  alsoValid: [
    {
      name: 'attributes that have 32768 characters together, and one without a value',
      change: (o) => (o.spec.attributes = { a: values(16), b: values(16), c: [] }),
    },
    { name: 'a user called admin', change: (o) => (o.spec.username = 'admin') },
    { name: 'an address as name', change: (o) => (o.spec.username = 'alice@example.com') },
  ],
  invalid: [
    ...commonInvalid,
    ...realmRefInvalid,
    { name: 'no username', breakIt: (o) => delete o.spec.username, path: 'spec.username', message: /is required/ },
    {
      name: 'an empty username',
      breakIt: (o) => (o.spec.username = ''),
      path: 'spec.username',
      message: /is empty|match/,
    },
    {
      name: 'a username with a trailing space',
      breakIt: (o) => (o.spec.username = 'alice '),
      path: 'spec.username',
      message: /does not match/,
    },
    {
      name: 'a username with NUL',
      breakIt: (o) => (o.spec.username = 'ali\u0000ce'),
      path: 'spec.username',
      message: /does not match/,
    },
    {
      name: 'a username that is not Unicode text',
      breakIt: (o) => (o.spec.username = 'ali\ud800ce'),
      path: 'spec.username',
      message: /not valid Unicode/,
    },
    {
      name: 'row 91: a username of the system',
      breakIt: (o) => (o.spec.username = 'System:admin'),
      path: 'spec.username',
      message: /reserved/,
    },
    {
      name: 'a username of 256 characters',
      breakIt: (o) => (o.spec.username = 'a'.repeat(256)),
      path: 'spec.username',
      message: /longer than 255/,
    },
    {
      name: 'an address without @',
      breakIt: (o) => (o.spec.email = 'alice'),
      path: 'spec.email',
      message: /does not match/,
    },
    {
      name: 'row 96: a password in the spec',
      breakIt: (o) => (o.spec.password = 'not-a-secret-any-more'),
      path: 'spec.password',
      message: /^unknown field/,
    },
    {
      name: 'a Secret without name',
      breakIt: (o) => delete o.spec.passwordSecretRef.name,
      path: 'spec.passwordSecretRef.name',
      message: /is required/,
    },
    {
      name: 'an attribute that is not a list',
      breakIt: (o) => (o.spec.attributes = { department: 'sales' }),
      path: 'spec.attributes.department',
      message: /must be an array/,
    },
    {
      name: 'an attribute name with invalid characters',
      breakIt: (o) => (o.spec.attributes = { 'a b': [] }),
      path: 'spec.attributes',
      message: /the name of an attribute/,
    },
    {
      name: 'attributes that are too long together',
      breakIt: (o) => (o.spec.attributes = { a: values(17), b: values(16) }),
      path: 'spec.attributes',
      message: /at most 32768 characters together/,
    },
    {
      name: 'an attribute named __proto__',
      breakIt: (o) => (o.spec.attributes = JSON.parse('{"__proto__": "x"}')),
      path: 'spec.attributes.__proto__',
      message: /must be an array/,
    },
    {
      name: 'a subject with spaces',
      breakIt: (o) => (o.spec.subject = 'a b'),
      path: 'spec.subject',
      message: /does not match/,
    },
  ],
  updates: [
    ...realmRefUpdates,
    {
      name: 'row 92: another username',
      stored: () => {},
      written: (o) => (o.spec.username = 'bob'),
      path: 'spec.username',
      message: /immutable/,
    },
    {
      name: 'row 92: another subject',
      stored: () => {},
      written: (o) => (o.spec.subject = 'bob-0001'),
      path: 'spec.subject',
      message: /immutable/,
    },
    {
      name: 'row 92: the subject removed',
      stored: () => {},
      written: (o) => delete o.spec.subject,
      path: 'spec.subject',
      message: /cannot be removed/,
    },
    {
      name: 'row 92: a subject set later to another one',
      stored: (o) => {
        delete o.spec.subject
        o.status.subject = 'uid-1'
      },
      written: (o) => (o.spec.subject = 'uid-2'),
      path: 'spec.subject',
      message: /the sub in use/,
    },
    {
      name: 'row 92: a subject set before there is one in use',
      stored: (o) => {
        delete o.spec.subject
        delete o.status
      },
      written: () => {},
      path: 'spec.subject',
      message: /the sub in use/,
    },
    {
      name: 'the subject set later to the one in use',
      stored: (o) => {
        delete o.spec.subject
        o.status.subject = 'uid-1'
      },
      written: (o) => (o.spec.subject = 'uid-1'),
    },
  ],
}
