import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import {
  afterBounce,
  afterComplaint,
  afterDelivery,
  afterResume,
  type EmailStop,
  isStoppedByRecipient,
  KEPT_MS,
  MAX_RESUMES_PER_DAY,
  type MailboxState,
  mailboxHash,
  type Recipient,
  resumesOfDay,
  stopsAt,
} from '../../domain/email-stop.ts';
import type { Clock } from '../../domain/time.ts';
import type { Audit } from '../audits/audit-log.ts';
import { batchGet } from '../dynamodb/batches.ts';
import { attributesUpdate, createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import { getItem, type Item } from '../dynamodb/items.ts';
import { type TransactItem, transact } from '../dynamodb/transactions.ts';
import { logger } from '../logger.ts';
import { count } from '../metrics.ts';

const time = z.optional(z.number());

const storedMailbox = z.object({
  opted_out_at_ms: time,
  complained_at_ms: time,
  bounced_at_ms: time,
  bounced_until_ms: time,
  resumed_at_ms: time,
  resume_count: time,
});

export const storedStop = (item: Item, nowMs: number): EmailStop | undefined =>
  stopsAt(storedMailbox.parse(item), nowMs)[0];

/** The attributes of which every change of a stop changes one, to a value that it never had. */
const VERSION = ['opted_out_at_ms', 'complained_at_ms', 'bounced_until_ms', 'resumed_at_ms'] as const;

export const EMAIL_STOP_PREFIX = 'email_stop';

const keyOf = (recipient: Recipient) => ({ pk: `${EMAIL_STOP_PREFIX}#${mailboxHash(recipient)}#${recipient.tenant}` });

const MAX_ATTEMPTS = 5;

/** Tests are sent in spite of a bounce at most this often. */
const TEST_INTERVAL_MS = 3_600_000;

/** Returns when the item of a mailbox expires, in seconds since the epoch: 30 days after its last stop, if that has ended. */
const ttlOf = (state: MailboxState, nowMs: number): number | undefined =>
  isStoppedByRecipient(state) ? undefined : Math.ceil((Math.max(nowMs, state.bounced_until_ms ?? 0) + KEPT_MS) / 1000);

/** Returns the changes of an item at a time, or undefined if there are none. */
type Decide = (state: MailboxState, nowMs: number) => MailboxState | undefined;

/** Stops of emails (table Accounts, docs/decisions/opt-out.md). Changes depend on the item, so they may be repeated. */
export const createEmailStops = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const update = createConditionalUpdate(client, table);

  const read = async (recipient: Recipient): Promise<MailboxState> =>
    storedMailbox.parse((await getItem(client, table, keyOf(recipient))) ?? {});

  /** Writes changes unless the item has changed since it was read. @returns whether they were written */
  const write = async (
    recipient: Recipient,
    state: MailboxState,
    changes: MailboxState,
    entry: TransactItem | undefined,
  ): Promise<boolean> => {
    const ttl = ttlOf({ ...state, ...changes }, clock());
    const known = VERSION.filter((name) => state[name] !== undefined);
    const conditions = VERSION.map((name) =>
      known.includes(name) ? `${name} = :${name}` : `attribute_not_exists(${name})`,
    );
    const request = attributesUpdate(
      { ...changes, ttl },
      {
        ConditionExpression: conditions.join(' AND '),
        ExpressionAttributeValues: Object.fromEntries(known.map((name) => [`:${name}`, state[name]])),
      },
    );
    if (!entry) return (await update(keyOf(recipient), request)).isWritten;
    const mailbox = { Update: { TableName: table, Key: keyOf(recipient), ...request } };
    return (await transact(client, { mailbox, entry })).length === 0;
  };

  /** Decides a change by the current item and writes it. @returns whether there was one, and the item after it */
  const change = async (
    recipient: Recipient,
    decide: Decide,
    entry?: TransactItem,
  ): Promise<{ isChanged: boolean; state: MailboxState }> => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const state = await read(recipient);
      const changes = decide(state, clock());
      if (!changes) return { isChanged: false, state };
      if (await write(recipient, state, changes, entry)) return { isChanged: true, state: { ...state, ...changes } };
    }
    throw new Error('The stop of a mailbox was changed at the same time.');
  };

  /** Begins a stop, logged and counted once. @returns the stop, also if it had begun before: repetitions report it */
  const begin = async (
    recipient: Recipient,
    reason: EmailStop['reason'],
    decide: Decide,
    entry?: TransactItem,
  ): Promise<EmailStop | undefined> => {
    const { isChanged, state } = await change(recipient, decide, entry);
    if (isChanged) {
      logger.warn('email stopped', { tenant_id: recipient.tenant, recipient: mailboxHash(recipient), reason });
      count({ email_stops: 1 });
    }
    return stopsAt(state, clock()).find((stop) => stop.reason === reason);
  };

  const resumeEntry = (recipient: Recipient, audit: Audit): TransactItem =>
    audit({ action: 'resume-email', target_id: mailboxHash(recipient) });

  return {
    find: async (recipient: Recipient): Promise<EmailStop | undefined> => stopsAt(await read(recipient), clock())[0],

    /** Returns the function that finds the stop of one of these addresses. @throws ServiceError serviceUnavailable */
    async findAll(tenant: string, addresses: readonly string[]): Promise<(address: string) => EmailStop | undefined> {
      const pkOf = (address: string): string => keyOf({ tenant, address }).pk;
      const keys = [...new Set(addresses.map(pkOf))].map((pk) => ({ pk }));
      const items = new Map((await batchGet(client, table, keys)).map((item) => [item.pk, item]));
      return (address) => storedStop(items.get(pkOf(address)) ?? {}, clock());
    },

    /** Stops emails as their recipient wants. Repeating it changes nothing. @throws UnconfirmedChangeError */
    optOut(recipient: Recipient, audit: Audit): Promise<EmailStop | undefined> {
      const entry = audit({ action: 'opt-out', target_id: mailboxHash(recipient) });
      const decide: Decide = ({ opted_out_at_ms }, nowMs) =>
        opted_out_at_ms === undefined ? { opted_out_at_ms: nowMs } : undefined;
      return begin(recipient, 'opted_out', decide, entry);
    },

    /** Ends what the recipient began, at most ten times a UTC day. @throws UnconfirmedChangeError */
    async resume(recipient: Recipient, audit: Audit): Promise<'resumed' | 'unchanged' | 'limited'> {
      let isLimited = false;
      const decide: Decide = (state, nowMs) => {
        const used = resumesOfDay(state, nowMs);
        isLimited = isStoppedByRecipient(state) && used >= MAX_RESUMES_PER_DAY;
        return isLimited ? undefined : afterResume(state, nowMs, used + 1);
      };
      const { isChanged } = await change(recipient, decide, resumeEntry(recipient, audit));
      if (isChanged) return 'resumed';
      return isLimited ? 'limited' : 'unchanged';
    },

    /** The same by an operator, without a limit, and not counted. @returns false if there was no such stop */
    async resumeByOperator(recipient: Recipient, audit: Audit): Promise<boolean> {
      const decide: Decide = (state, nowMs) => afterResume(state, nowMs, resumesOfDay(state, nowMs));
      return (await change(recipient, decide, resumeEntry(recipient, audit))).isChanged;
    },

    complain: (recipient: Recipient, sentAtMs: number): Promise<EmailStop | undefined> =>
      begin(recipient, 'complained', (state, nowMs) => afterComplaint(state, sentAtMs, nowMs)),

    bounce: (recipient: Recipient, sentAtMs: number): Promise<EmailStop | undefined> =>
      begin(recipient, 'bounced', (state, nowMs) => afterBounce(state, sentAtMs, nowMs)),

    /** Ends a stop because of a bounce after an email that was sent in spite of it was delivered. */
    async endBounce(recipient: Recipient, sinceMs: number): Promise<void> {
      await change(recipient, (state, nowMs) => afterDelivery(state, sinceMs, nowMs));
    },

    /** Claims a test in spite of a bounce: the first, then one per hour. @returns when, unless none may be sent */
    async claimTest(recipient: Recipient, sinceMs: number): Promise<number | undefined> {
      const nowMs = clock();
      const { isWritten } = await update(keyOf(recipient), {
        UpdateExpression: 'SET tested_at_ms = :now',
        ConditionExpression:
          'bounced_at_ms = :since AND (attribute_not_exists(tested_at_ms) OR tested_at_ms < :since OR tested_at_ms <= :hour_ago)',
        ExpressionAttributeValues: { ':now': nowMs, ':since': sinceMs, ':hour_ago': nowMs - TEST_INTERVAL_MS },
      });
      return isWritten ? nowMs : undefined;
    },

    async giveBackTest(recipient: Recipient, claimedAtMs: number): Promise<void> {
      await update(keyOf(recipient), {
        UpdateExpression: 'REMOVE tested_at_ms',
        ConditionExpression: 'tested_at_ms = :claimed',
        ExpressionAttributeValues: { ':claimed': claimedAtMs },
      });
    },
  };
};

export type EmailStops = ReturnType<typeof createEmailStops>;
