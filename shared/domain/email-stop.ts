import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { type StopReason, stopReasons } from '../contracts/outcomes.ts';
import { DAY_MS, utcDay } from './time.ts';

/** Times are ms since the epoch. */
export type EmailStop = {
  reason: StopReason;
  sinceMs: number;
  /** When a stop because of a bounce ends. The others end when the recipient resumes the emails. */
  untilMs?: number;
};

export type Recipient = { tenant: string; address: string };

/** One service, which ignores dots in addresses. */
const GMAIL = ['gmail.com', 'googlemail.com'];

/** What spellings of an address share: lower case, without what follows a `+`, and for Gmail without dots. */
const mailboxOf = (address: string): string => {
  const lower = address.toLowerCase();
  const at = lower.lastIndexOf('@');
  const [local, domain] = [lower.slice(0, at), lower.slice(at + 1)];
  const plus = local.indexOf('+');
  // An address that begins with `+` has nothing else.
  const name = plus > 0 ? local.slice(0, plus) : local;
  return GMAIL.includes(domain) ? `${name.replaceAll('.', '')}@gmail.com` : `${name}@${domain}`;
};

/** 16 hex digits, which identify an address without showing it among those with the same salt. */
export const addressHash = (salt: string, address: string): string =>
  createHash('sha256')
    .update(JSON.stringify([salt, address]))
    .digest('hex')
    .slice(0, 16);

/** All spellings of an address share it. */
export const mailboxHash = ({ tenant, address }: Recipient): string => addressHash(tenant, mailboxOf(address));

/** Times are ms since the epoch. */
export type MailboxState = {
  opted_out_at_ms?: number | undefined;
  complained_at_ms?: number | undefined;
  bounced_at_ms?: number | undefined;
  /** When the stop because of a bounce ends or has ended. */
  bounced_until_ms?: number | undefined;
  /** When the recipient or an operator last resumed the emails, and how often the recipient did on that UTC day. */
  resumed_at_ms?: number | undefined;
  resume_count?: number | undefined;
};

export const stopsAt = (state: MailboxState, nowMs: number): EmailStop[] => {
  const { opted_out_at_ms, complained_at_ms, bounced_at_ms, bounced_until_ms = 0 } = state;
  const sinceMs = {
    opted_out: opted_out_at_ms,
    complained: complained_at_ms,
    bounced: bounced_until_ms > nowMs ? bounced_at_ms : undefined,
  };
  return stopReasons.flatMap((reason) => {
    const since = sinceMs[reason];
    if (since === undefined) return [];
    return [{ reason, sinceMs: since, ...(reason === 'bounced' && { untilMs: bounced_until_ms }) }];
  });
};

/** SES reports bounces and complaints days late. */
export const KEPT_MS = 30 * DAY_MS;

const FIRST_BOUNCE_MS = DAY_MS;
const REPEATED_BOUNCE_MS = 7 * DAY_MS;

/** What SES reports about an email that was sent before a stop ended has no effect. */
const isBeforeEnd = ({ resumed_at_ms = 0, bounced_until_ms = 0 }: MailboxState, sentAtMs: number, nowMs: number) =>
  sentAtMs < resumed_at_ms || (bounced_until_ms <= nowMs && sentAtMs < bounced_until_ms);

export const afterComplaint = (state: MailboxState, sentAtMs: number, nowMs: number): MailboxState | undefined =>
  state.complained_at_ms !== undefined || isBeforeEnd(state, sentAtMs, nowMs) ? undefined : { complained_at_ms: nowMs };

/** A stop for a day, or for a week if an earlier one ended within 30 days. */
export const afterBounce = (state: MailboxState, sentAtMs: number, nowMs: number): MailboxState | undefined => {
  const { bounced_until_ms: untilMs } = state;
  if ((untilMs !== undefined && untilMs > nowMs) || isBeforeEnd(state, sentAtMs, nowMs)) return undefined;
  const isRepeated = untilMs !== undefined && nowMs - untilMs <= KEPT_MS;
  return {
    bounced_at_ms: nowMs,
    bounced_until_ms: nowMs + (isRepeated ? REPEATED_BOUNCE_MS : FIRST_BOUNCE_MS),
  };
};

/** The delivery of an email that was sent in spite of a bounce ends exactly that stop. */
export const afterDelivery = (state: MailboxState, sinceMs: number, nowMs: number): MailboxState | undefined =>
  state.bounced_at_ms === sinceMs && (state.bounced_until_ms ?? 0) > nowMs ? { bounced_until_ms: nowMs } : undefined;

export const MAX_RESUMES_PER_DAY = 10;

/** By an opt-out or a complaint. */
export const isStoppedByRecipient = ({ opted_out_at_ms, complained_at_ms }: MailboxState): boolean =>
  opted_out_at_ms !== undefined || complained_at_ms !== undefined;

export const resumesOfDay = ({ resumed_at_ms = 0, resume_count = 0 }: MailboxState, nowMs: number): number =>
  utcDay(resumed_at_ms) === utcDay(nowMs) ? resume_count : 0;

/** @param resumeCount how often the recipient has then resumed them on this UTC day */
export const afterResume = (state: MailboxState, nowMs: number, resumeCount: number): MailboxState | undefined =>
  isStoppedByRecipient(state)
    ? {
        opted_out_at_ms: undefined,
        complained_at_ms: undefined,
        resumed_at_ms: Math.max(nowMs, (state.resumed_at_ms ?? 0) + 1),
        resume_count: resumeCount,
      }
    : undefined;

/** The page on which recipients stop and resume emails (docs/decisions/opt-out.md). */
export const OPT_OUT_PATH = '/opt-out';

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

/** The address is encrypted with the HMAC as its IV (a synthetic IV, as in RFC 5297): only the service can read it. */
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
