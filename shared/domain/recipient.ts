import { createHash, randomBytes, randomInt, scryptSync, timingSafeEqual } from 'node:crypto';
import type { Destination } from '../contracts/notification.ts';

/** The types whose recipients are verified (docs/api.md#verified-recipients). */
export type RecipientType = 'email' | 'sms';

/** A person's email address or phone number. */
export type Recipient = { type: RecipientType; address: string };

/** How many tries a code has. */
export const MAX_CODE_TRIES = 10;

/** How long a code is valid. */
export const CODE_VALIDITY_MS = 86_400_000;

/** How many codes are sent to a recipient in a UTC day, whichever tenants ask. */
export const MAX_CODES_PER_DAY = 5;

/** Returns the recipient of a destination, or undefined if its type has none that is verified. */
export const recipientOf = ({ type, details }: Pick<Destination, 'type' | 'details'>): Recipient | undefined => {
  if (type === 'email') return { type, address: details.address ?? '' };
  return type === 'sms' ? { type, address: details.phone_number ?? '' } : undefined;
};

const normalized = (address: string): string => address.toLowerCase();

/** Returns whether two recipients are the same: the case of letters does not count. */
export const isSameRecipient = (one: Recipient | undefined, other: Recipient | undefined): boolean =>
  one !== undefined && other !== undefined && normalized(one.address) === normalized(other.address);

const sha256 = (...values: string[]): string => createHash('sha256').update(JSON.stringify(values)).digest('base64url');

/** Returns the hash of a tenant's recipient. */
export const recipientHashOf = (tenant: string, address: string): string => sha256(tenant, normalized(address));

/** Returns the hash of a mailbox or phone number, which tenants share. What follows a `+` names no other mailbox. */
export const mailboxHash = (address: string): string => {
  const [local = '', domain] = normalized(address).split('@');
  const plus = local.indexOf('+', 1);
  return sha256(domain === undefined ? local : `${plus < 0 ? local : local.slice(0, plus)}@${domain}`);
};

/** A code as it is stored. */
export type StoredCode = { code_hash: string; salt: string };

/**
 * A million codes can be guessed from any hash. A slow one with a salt (12 ms of CPU) costs whoever reads a backup hours
 * for each code, which is valid for one recipient of one tenant.
 */
const hashOf = (code: string, salt: string): Buffer => scryptSync(code, salt, 32, { N: 4_096 });

/** Returns a new code of six digits, and what is stored of it. */
export const newCode = (): { code: string; stored: StoredCode } => {
  const code = String(randomInt(1_000_000)).padStart(6, '0');
  const salt = randomBytes(16).toString('base64url');
  return { code, stored: { code_hash: hashOf(code, salt).toString('base64url'), salt } };
};

/** Returns whether a code is the stored one. */
export const matchesCode = (code: string, { code_hash, salt }: StoredCode): boolean =>
  timingSafeEqual(hashOf(code, salt), Buffer.from(code_hash, 'base64url'));
