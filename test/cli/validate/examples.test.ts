import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { validatePaths } from '../../../cli/validate/validate.ts'

const examples = join(import.meta.dirname, '../../../examples')
const entries = readdirSync(examples).filter((name) => !name.endsWith('.md'))

test('there are a quickstart and a ladder', () => {
  expect(entries).toContain('quickstart')
  expect(entries.length).toBeGreaterThanOrEqual(9)
})

test.each(entries)('%s by itself has no error, and no note but that of its license', async (name) => {
  const findings = await validatePaths([join(examples, name)])
  const other = findings.filter(({ field }) => field !== 'spec.identityProvider.licenseSecretRef.name')
  expect(other).toEqual([])
})

test('all of them together have no error', async () => {
  const findings = await validatePaths([examples])
  const errors = findings.filter(({ severity }) => severity === 'error')
  expect(errors.map((finding) => ({ ...finding, file: relative(examples, finding.file) }))).toEqual([])
})
