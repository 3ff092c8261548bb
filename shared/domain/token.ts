import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import baseX from 'base-x';

/*
 * A token is `mnt_`, 43 characters for 256 random bits, and 6 for a CRC-32 of what stands before them, all base62.
 * The prefix lets secret scanners know a leaked token; the checksum lets us refuse garbage without a read.
 */
const PREFIX = 'mnt_';
const base62 = baseX('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
const RANDOM_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const shape = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

const checksum = (text: string): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return base62.encode(bytes).padStart(CHECKSUM_LENGTH, '0').slice(-CHECKSUM_LENGTH);
};

/** Makes a new token; it is shown once and never stored. */
export const newToken = (): string => {
  const random = PREFIX + base62.encode(randomBytes(32)).padStart(RANDOM_LENGTH, '0');
  return random + checksum(random);
};

/** True where the text can be a token: anything else is refused without asking the database. */
export const isWellFormedToken = (text: string): boolean =>
  shape.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);

/** SHA-256 in hex, the only form in which a token is stored or looked up. */
export const tokenHash = (token: string): string => createHash('sha256').update(token).digest('hex');
