import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { recordLogFile, recordSecrets } from '../../support/canary.ts'
import { binaryPath, startControlPlane } from '../../support/control_plane.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import { freePort } from '../../support/control_plane/child.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { ROOT } from '../../support/source_files.ts'

vi.setConfig({ testTimeout: 240_000 })

/** The commands of one section. */
function commandsOf(heading: string): string {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const [, section = ''] = readme.split(`\n## ${heading}\n`)
  const [own = ''] = section.split('\n## ')
  return [...own.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block).join('\n')
}

describe('the tour in a cluster', () => {
  let plane: ControlPlane
  let database: TestDatabase
  let port: number
  const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-tour-'))
  beforeAll(async () => {
    plane = await startControlPlane({ controllers: true, crds: false })
    database = await testDatabase({ migrated: false })
    port = await freePort()
    for (const path of ['crds', 'examples']) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    symlinkSync(binaryPath('kubectl'), join(bin, 'kubectl'))
    // The commands that npx finds in a checkout.
    writeFileSync(
      join(bin, 'npx'),
      `#!/bin/sh\nshift\nexec "${process.execPath}" "${ROOT}/cli/realmkeeper.ts" "$@"\n`,
      {
        mode: 0o755,
      },
    )
    recordSecrets('shop-secret-for-development', 'alice-password-1', 'bob-password-1')
  })
  afterAll(async () => {
    for (const name of ['operator', 'server']) recordLogFile(`tour-${name}`, join(folder, `${name}.log`))
    await plane?.stop()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('its commands do what the README says, and then those of the tour without a cluster do', async () => {
    const url = `http://localhost:${port}`
    const [, afterwards = ''] = commandsOf('The tour').split(/^npx realmkeeper approve quickstart-dob.*$/m)
    const [setUp = ''] = commandsOf('The tour').split(/^A=/m)
    const script = [
      'set -e',
      `trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT`,
      commandsOf('The tour in a cluster'),
      `echo 'the tour:'`,
      setUp,
      // The server receives the last decision a moment later than kubectl.
      `for i in $(seq 100); do [ "$(login 'openid _svc_dob.selfencrypt' | pick scope | grep -c selfencrypt)" = 1 ] && break; sleep 0.1; done`,
      afterwards,
      'kubectl delete -f examples/quickstart --timeout=120s',
    ]
      .join('\n')
      .replace(/postgres:\/\/realmkeeper\S+/, `'${database.url}'`)
      .replaceAll('http://localhost:8080', url)
    const child = spawn('bash', ['-c', script], {
      cwd: folder,
      env: {
        PATH: `${join(folder, 'bin')}:${join(process.execPath, '..')}:${process.env.PATH}`,
        HOME: folder,
        KUBECONFIG: plane.admin.kubeconfig,
        REALMKEEPER_LISTEN_PORT: String(port),
        // Each process has its own port, so the environment cannot set it.
        REALMKEEPER_HEALTH_LISTEN_PORT: '0',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    const log = readFileSync(join(folder, 'operator.log'), 'utf8').slice(-2_000)
    expect(code, `${stdout}\n${stderr}\n${log}`).toBe(0)

    const [cluster = '', tour = ''] = stdout.split('the tour:\n')
    expect(cluster).toMatch(/alice-realm-admin +user\/alice/)
    expect(cluster).toMatch(/quickstart\/quickstart-dob approved by carol/)
    expect(cluster).toMatch(/roleassignment.*\/quickstart-dob .* True +Granted/)
    expect(tour).toMatch(/^rk1:1:/m)
    expect(tour).toContain('"value":"1990-04-01"')
    expect(tour).toMatch(/^204$/m)
    expect(tour).toContain('"error":"invalid_grant"')
    expect(tour).toMatch(/realm.*"quickstart" deleted/)
  })
})
