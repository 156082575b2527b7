import { CLAIMED } from './attacks/claimed.ts'
import { FORGED } from './attacks/forged.ts'
import { MISSTATED } from './attacks/misstated.ts'
import { OTHER_KINDS } from './attacks/other_kinds.ts'
import { OVERREACHING } from './attacks/overreaching.ts'
import { REWRITTEN } from './attacks/rewritten.ts'
import { WEAKER_GOVERNANCE } from './attacks/weaker_governance.ts'
import { WITHDRAWN } from './attacks/withdrawn.ts'
import type { Attack } from './attacks/attack.ts'

export const ATTACKS: readonly Attack[] = [
  ...FORGED,
  ...OVERREACHING,
  ...MISSTATED,
  ...WITHDRAWN,
  ...REWRITTEN,
  ...CLAIMED,
  ...WEAKER_GOVERNANCE,
  ...OTHER_KINDS,
]
