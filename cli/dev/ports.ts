import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DevConfig } from '../../process/settings.ts'
import { listen } from '../../process/listen.ts'
import type { ListenAt } from '../../process/listen.ts'

/** The processes of a `dev` that was killed notice it and end, but not within the same moment. */
const TRIES = 8
const BETWEEN_MILLIS = 200

/** Before anything is started, so that it is said once and at once. Throws ListenError. */
export async function refuseOccupiedPorts({ listenHost: host, ...config }: DevConfig): Promise<void> {
  const ports = [
    { port: config.listenPort, flag: '--listen-port' },
    { port: config.healthPort, flag: '--health-listen-port' },
    { port: config.operatorHealthPort, flag: '--operator-health-listen-port' },
  ]
  for (const at of ports) await refuseOccupied({ host, ...at })
}

async function refuseOccupied(at: ListenAt): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const server = createServer()
    try {
      await listen(server, at)
      await new Promise((resolve) => server.close(resolve))
      return
    } catch (error) {
      if (attempt === TRIES) throw error
      await sleep(BETWEEN_MILLIS)
    }
  }
}
