import { createHash, randomBytes } from 'node:crypto';
import baseX from 'base-x';
import type { Permission } from '../contracts/endpoints.ts';
import type { Role } from '../contracts/token.ts';
import { isPrefixedUlid, ulid } from './ulid.ts';

/*
 * A token is `mnt_`, 43 base62 characters for 256 random bits, and 6 for a CRC-32 of everything before them. Secret
 * scanners detect the prefix; the checksum rejects most invalid tokens without a database read.
 */
const PREFIX = 'mnt_';
const base62 = baseX('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
const RANDOM_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const TOKEN = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** As in gzip (RFC 1952, section 8), because loading `node:zlib` takes 1 ms of a cold start. */
const crc32 = (text: string): number => {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
};

const checksum = (text: string): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return base62.encode(bytes).padStart(CHECKSUM_LENGTH, '0').slice(-CHECKSUM_LENGTH);
};

/** Only its hash is stored. */
export const newToken = (): string => {
  const prefixed = PREFIX + base62.encode(randomBytes(32)).padStart(RANDOM_LENGTH, '0');
  return prefixed + checksum(prefixed);
};

export const isWellFormedToken = (text: string): boolean =>
  TOKEN.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);

const ID_PREFIX = 'tk';

/** `tk` and a ULID, so IDs sort by creation. @param nowMs ms since the epoch */
export const newTokenId = (nowMs: number): string => ID_PREFIX + ulid(nowMs);

export const isTokenId = (text: string): boolean => isPrefixedUlid(ID_PREFIX, text);

/** SHA-256 in hex, which identifies the token in the database. */
export const tokenHash = (token: string): string => createHash('sha256').update(token).digest('hex');

const permissions: Record<Role, readonly Permission[]> = {
  admin: ['create', 'read', 'update', 'delete', 'test', 'redeliver', 'administer'],
  creator: ['create', 'read', 'update', 'test', 'redeliver'],
  observer: ['read'],
};

const isRole = (role: string): role is Role => Object.hasOwn(permissions, role);

/** Unknown roles have no permission. */
export const isPermitted = (role: string, permission: Permission): boolean =>
  isRole(role) && permissions[role].includes(permission);

/** The role limits the operations of a request on the tenant's resources. */
export type Caller = {
  readonly tenant: string;
  readonly role: string;
  readonly token: { readonly id: string; readonly label: string };
};
