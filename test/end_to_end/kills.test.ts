import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLIENT, startDevWorld, until } from './dev_world.ts'
import type { Answer, DevWorld } from './dev_world.ts'

describe('killed processes start again and converge', () => {
  let world: DevWorld
  beforeAll(async () => {
    world = await startDevWorld('kills')
  })
  afterAll(() => world.remove())

  it('row 119: the operator, while users come and go', async () => {
    for (let round = 0; round < 4; round++) {
      world.edit('04_users.yaml', (text) => text.replaceAll(/lastName: Adams\d*/g, `lastName: Adams${round}`))
      // Each round kills the operator earlier in its work.
      await new Promise((resolve) => setTimeout(resolve, 600 - round * 150))
      await until(() => world.isRunning('operator'), 60)
      process.kill(world.pidOf('operator'), 'SIGKILL')
    }
    await until(async () => {
      const { access_token = '' } = (await world.login('alice', { scope: 'openid profile' })).body
      const response = await fetch(`${world.url}/auth/realms/quickstart/protocol/openid-connect/userinfo`, {
        headers: { authorization: `Bearer ${access_token}` },
      })
      return ((await response.json()) as { family_name?: string }).family_name === 'Adams3'
    }, 30)
    expect((await world.login('bob')).status).toBe(200)
  })

  it('row 71: the server is killed during refreshes: every refresh token is used once or not at all', async () => {
    const logins = await Promise.all(Array.from({ length: 10 }, (_, i) => world.login(i % 2 ? 'alice' : 'bob')))
    expect(logins.map(({ status }) => status)).toEqual(logins.map(() => 200))
    const tokens = logins.map(({ body }) => body.refresh_token ?? '')
    const refresh = (refresh_token: string): Promise<Answer> =>
      world.post('/token', { grant_type: 'refresh_token', ...CLIENT, refresh_token })
    const racing = tokens.map(refresh)
    process.kill(world.pidOf('server'), 'SIGKILL')
    const answers = await Promise.all(racing)
    await until(async () => (await world.login('bob')).status === 200, 30)

    for (const [i, answer] of answers.entries()) {
      if (answer.status === 200) {
        // Answered: the new token works.
        expect((await refresh(answer.body.refresh_token ?? '')).status).toBe(200)
      } else {
        // Not answered: nothing was committed, or the token counts as used.
        const retried = await refresh(tokens[i] ?? '')
        expect([200, 400]).toContain(retried.status)
        if (retried.status === 400) expect(retried.body.error_description).toBe('Refresh token reused')
      }
    }
  })

  it('all processes are killed with dev: a second start repairs the orphaned PostgreSQL', async () => {
    const { access_token = '' } = (await world.login('bob')).body
    await until(() => world.isRunning('operator') && world.isRunning('server'))
    const pids = (['operator', 'server'] as const).map((part) => world.pidOf(part))
    process.kill(world.pid(), 'SIGKILL')
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await world.start()
    expect((await world.introspect(access_token)).body).toMatchObject({ active: true })
  })

  it('Ctrl-C ends cleanly, and a second start keeps the data', async () => {
    const { access_token = '' } = (await world.login('bob')).body
    expect(await world.stop()).toBe(0)
    await world.start()
    expect((await world.introspect(access_token)).body).toMatchObject({ active: true })
  })
})
