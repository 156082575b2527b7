import { isDeepStrictEqual } from 'node:util'
import type { Db } from '../../store/db.ts'
import { listRoleAssignments } from '../../store/role_assignments.ts'
import { parseGranted } from '../role_assignment/granted.ts'
import type { PolicyAccess } from './policy_access.ts'
import { NoAnswer } from './policy_access.ts'

/**
 * Whether every `status.granted` says what its row says, or nothing. What was written into statuses while nobody was
 * held to the rules is then gone, and they can stand in for rows that are lost.
 */
export async function doStatusesAgree(access: PolicyAccess, db: Db): Promise<boolean> {
  const resources = await access.listAssignments().catch((error: unknown) => {
    if (error instanceof NoAnswer) return undefined
    throw error
  })
  if (!resources) return false
  const rows = new Map((await listRoleAssignments(db)).map((row) => [row.resourceUid, row.granted]))
  return resources.every(({ metadata, status }) => {
    const stated = parseGranted(status?.granted)
    return stated === undefined || isDeepStrictEqual(stated, parseGranted(rows.get(metadata.uid)))
  })
}
