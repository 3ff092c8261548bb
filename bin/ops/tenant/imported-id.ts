import { createHash } from 'node:crypto';
import { isNotificationId } from '../../../shared/domain/notification-id.ts';

/** The alphabet of ULIDs. */
const CROCKFORD_BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * Returns the ID of a notification that another system knows by `oldId`, always the same for a tenant, so that an import
 * can be repeated (docs/decisions/storage.md#imported-notifications). An ID of this service is kept. The ULID of another
 * one has the time 0, so imported notifications are listed before those that the service created.
 */
export const importedId = (tenant: string, oldId: string): string => {
  if (isNotificationId(oldId)) return oldId;
  const hash = createHash('sha256')
    .update(JSON.stringify([tenant, oldId]))
    .digest();
  return `nt${'0'.repeat(10)}${Array.from(hash.subarray(0, 16), (byte) => CROCKFORD_BASE32[byte % 32]).join('')}`;
};
