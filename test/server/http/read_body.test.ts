import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { ClientGone, readBody } from '../../../server/http/read_body.ts'

test('a caller who went while something else was waited for is gone, and nobody waits for the body', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const socket = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf')
  const [req]: IncomingMessage[] = await once(server, 'request')
  if (!req) throw new Error('there was no request')
  const gone = new Promise((resolve) => req.once('close', resolve))
  socket.destroy()
  await gone
  await expect(readBody(req, 100)).rejects.toThrow(ClientGone)
  server.close()
})
