import { user } from '../legitimate.ts'
import { API } from '../world.ts'
import { merge, mergeStatus } from '../writes.ts'
import { REFUSALS } from './attack.ts'
import type { Attack } from './attack.ts'

/** Attacks that avoid decisions by the sub of another user. */
export const OTHER_KINDS: Attack[] = [
  {
    name: 'an author creates a user with the sub of another user',
    refusal: REFUSALS.subject,
    run: ({ who, home }) =>
      who('carol').call('POST', `${API}/namespaces/${home}/users`, user('impostor', { subject: 'of-alice' })),
  },
  {
    name: 'an author gives a user the sub of another user after writing in status that it is in use',
    refusal: REFUSALS.subject,
    async run({ who, home }) {
      const body = user(`plain-${++users}`)
      const made = await who('una').do('POST', `${API}/namespaces/${home}/users`, body)
      const status = await mergeStatus(who('una'), made, { subject: 'of-alice' })
      return status.status < 300 ? merge(who('una'), made, { spec: { subject: 'of-alice' } }) : status
    },
  },
  {
    name: 'an author gives a user the sub of another user',
    refusal: 'subject is immutable',
    async run({ who, home }) {
      const name = `plain-${++users}`
      const made = await who('carol').do('POST', `${API}/namespaces/${home}/users`, user(name))
      return merge(who('carol'), made, { spec: { subject: 'of-alice' } })
    },
  },
]

let users = 0
