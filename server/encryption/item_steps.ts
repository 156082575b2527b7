import type { EncryptionField } from '../../store/realms.ts'
import type { Members } from './request_body.ts'

/** An item that passed shape, permission and limits. */
export interface Permitted<Item> {
  item: Item
  field: EncryptionField
}

/** Items one by one, as a single request or a batch goes through them. */
export interface ItemSteps<Item> {
  /** Shape, permission, limits. @throws OAuthError */
  permit(members: Members): Permitted<Item>
  /** @throws OAuthError 429 while the subject has failed too often */
  requireNotLimited(): void
  /** The key. @throws OAuthError */
  apply(permitted: Permitted<Item>): object
}
