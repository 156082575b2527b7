import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { inClusterAccess } from '../../kubernetes/access.ts'

const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-pod-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('in a pod, the URL writes an IPv6 address in brackets', async () => {
  writeFileSync(join(folder, 'ca.crt'), 'authority')
  writeFileSync(join(folder, 'token'), 'token\n')
  expect(await inClusterAccess({ host: 'fd00::1', port: '443' }, folder).read()).toEqual({
    url: 'https://[fd00::1]:443',
    headers: { Authorization: 'Bearer token' },
    connection: { ca: 'authority' },
  })
})

test('in a pod, a token file that is empty or missing is reported, and read again by the next call', async () => {
  const access = inClusterAccess({ host: '10.0.0.1', port: '443' }, folder)
  const error = (message: string) => ({ name: 'ApiAccessError', message })
  writeFileSync(join(folder, 'token'), '\n')
  await expect(access.read()).rejects.toMatchObject(error(`the token file ${folder}/token is empty`))
  rmSync(join(folder, 'token'))
  await expect(access.read()).rejects.toMatchObject(error(`${folder}/token cannot be read: ENOENT`))
  writeFileSync(join(folder, 'token'), 'next')
  expect(await access.read()).toMatchObject({ headers: { Authorization: 'Bearer next' } })
})
