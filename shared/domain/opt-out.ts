import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { OPT_OUT_PATH } from '../contracts/endpoints.ts';
import type { Recipient } from './email-stop.ts';

const MAC_BYTES = 32;
const IV_BYTES = 16;

/** The tenant, and the HMAC with the address. */
const PARTS = /^tenant=([\w-]{2,171})&link=([\w-]{44,400})$/;

/** Longer than every query of `optOutUrl`. */
const MAX_QUERY_LENGTH = 1_024;

const subkey = (key: Buffer, use: string): Buffer => Buffer.from(hkdfSync('sha256', key, '', use, 32));

const macOf = (key: Buffer, recipient: Recipient): Buffer =>
  createHmac('sha256', subkey(key, 'mac'))
    .update(JSON.stringify([recipient.tenant, recipient.address]))
    .digest();

const CIPHER = 'aes-256-ctr';

/**
 * The query has the tenant, the HMAC of tenant and address, and the address, encrypted with the HMAC as its IV (a
 * synthetic IV, as in RFC 5297), so that only the service can read it.
 *
 * @param apiUrl without a trailing slash
 */
export const optOutUrl = (apiUrl: string, key: Buffer, recipient: Recipient): string => {
  const mac = macOf(key, recipient);
  const cipher = createCipheriv(CIPHER, subkey(key, 'address'), mac.subarray(0, IV_BYTES));
  const link = Buffer.concat([mac, cipher.update(recipient.address), cipher.final()]).toString('base64url');
  return `${apiUrl}${OPT_OUT_PATH}?tenant=${Buffer.from(recipient.tenant).toString('base64url')}&link=${link}`;
};

/** Whether `parseOptOutQuery` may find a recipient, without any key. */
export const isOptOutQuery = (query: string): boolean => query.length <= MAX_QUERY_LENGTH && PARTS.test(query);

/** Undefined unless `optOutUrl` created the query with the key. */
export const parseOptOutQuery = (key: Buffer, query: string): Recipient | undefined => {
  if (!isOptOutQuery(query)) return undefined;
  const [, tenantPart, link] = PARTS.exec(query) ?? [];
  if (tenantPart === undefined || link === undefined) return undefined;
  const tenant = Buffer.from(tenantPart, 'base64url').toString();
  const bytes = Buffer.from(link, 'base64url');
  const mac = bytes.subarray(0, MAC_BYTES);
  const decipher = createDecipheriv(CIPHER, subkey(key, 'address'), mac.subarray(0, IV_BYTES));
  const address = Buffer.concat([decipher.update(bytes.subarray(MAC_BYTES)), decipher.final()]).toString();
  const recipient = { tenant, address };
  return timingSafeEqual(mac, macOf(key, recipient)) ? recipient : undefined;
};
