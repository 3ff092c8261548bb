import { createHash } from 'node:crypto';
import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { PauseReason } from '../../contracts/email-pause.ts';
import type { Clock } from '../../domain/clock.ts';
import { DAY_MS, DAY_SECONDS, utcDay } from '../../domain/day.ts';
import { type EmailPause, lastHours, pauseReasonOf, utcHour } from '../../domain/email-reputation.ts';
import type { Audit } from '../audits/audit-log.ts';
import { batchGet } from '../dynamodb/batches.ts';
import { createConditionalUpdate, createLimitedSet } from '../dynamodb/conditional-writes.ts';
import { FailedConditionsError, retryConflicts, transact } from '../dynamodb/transactions.ts';
import { accountKey, emailPauseFields } from './account-repository.ts';
import { createDailyCounters } from './daily-counter.ts';

/** The counters of everything that a tenant sends by email. */
const EMAIL_COUNTERS = ['email', 'email_notices', 'email_summaries'] as const;

/**
 * The most bounces or complaints of a UTC day that are counted, so that their item has at most 100 KB: 5% of 200,000
 * emails.
 */
const MAX_REPORTS_PER_DAY = 10_000;

/** Base64 characters of a hash that distinguish the emails of a tenant and hour. */
const ID_LENGTH = 6;

const storedReports = z.object({
  pk: z.string(),
  bounces: z._default(z.set(z.string()), new Set()),
  complaints: z._default(z.set(z.string()), new Set()),
});

const storedPause = z.object(emailPauseFields);

/** What SES reported about an email. Times are ms since the epoch. */
export type ReportedEmail = {
  /** The ID that SES gave the email. */
  messageId: string;
  sentAtMs: number;
  reportedAtMs: number;
};

/** The pause of a tenant, and whether this report caused it. */
export type CausedPause = { pause: EmailPause; isNew: boolean };

/** Returns the key of the bounces and complaints of a tenant and UTC day. */
const reportsKey = (tenant: string, timeMs: number) => ({ pk: `email_reports#${utcDay(timeMs)}#${tenant}` });

/** The characters of an hour. */
const HOUR_LENGTH = 2;

/** Returns an email in a set: the hour of its report, and the beginning of a hash of its ID. */
const entryOf = ({ messageId, reportedAtMs }: ReportedEmail): string =>
  utcHour(reportedAtMs) + createHash('sha256').update(messageId).digest('base64url').slice(0, ID_LENGTH);

/**
 * Creates the reputation of tenants as senders of email (table Accounts, docs/decisions/deliveries.md#email-reputation):
 *
 *   pk `email_reports#<day>#<tenant>`  bounces, complaints: the emails that SES reported, by the hour of the report
 *
 * The pause itself is in the account, which senders have in their cache.
 */
export const createEmailReputation = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const update = createConditionalUpdate(client, table);
  const counters = createDailyCounters(client, table, clock);
  const adds = {
    bounces: createLimitedSet(client, table, 'bounces'),
    complaints: createLimitedSet(client, table, 'complaints'),
  };

  const read = async (tenant: string) => {
    const { Item = {} } = await client.send(
      new GetCommand({ TableName: table, Key: accountKey(tenant), ConsistentRead: true }),
    );
    return storedPause.parse(Item);
  };

  /** Returns the bounces and complaints of the last 24 hours. */
  const countReports = async (tenant: string, nowMs: number): Promise<Record<PauseReason, number>> => {
    const keys = [reportsKey(tenant, nowMs), reportsKey(tenant, nowMs - DAY_MS)];
    const items = (await batchGet(client, table, keys)).map((item) => storedReports.parse(item));
    const hours = lastHours(nowMs).map((hourMs) => reportsKey(tenant, hourMs).pk + utcHour(hourMs));
    // An email can bounce more than once.
    const countOf = (reason: PauseReason): number =>
      new Set(
        items.flatMap(({ pk, [reason]: entries }) =>
          [...entries]
            .filter((entry) => hours.includes(pk + entry.slice(0, HOUR_LENGTH)))
            .map((entry) => entry.slice(HOUR_LENGTH)),
        ),
      ).size;
    return { bounces: countOf('bounces'), complaints: countOf('complaints') };
  };

  return {
    /**
     * Counts a bounce or a complaint about an email, and pauses the tenant's emails if they have become too many. An email
     * that was sent before the last pause ended does not count, and none does during a pause. Repeating a report changes nothing.
     *
     * @returns the pause of the tenant, or undefined
     */
    async report(tenant: string, reason: PauseReason, email: ReportedEmail): Promise<CausedPause | undefined> {
      const nowMs = clock();
      const account = await read(tenant);
      const { email_paused: paused, email_resumed_at_ms: resumedAtMs } = account;
      // The end of a pause discards what was counted.
      if (paused) return { pause: paused, isNew: false };
      if (resumedAtMs !== undefined && email.sentAtMs <= resumedAtMs) return undefined;
      const ttl = Math.floor(email.reportedAtMs / 1000) + 3 * DAY_SECONDS;
      await adds[reason](reportsKey(tenant, email.reportedAtMs), entryOf(email), MAX_REPORTS_PER_DAY, ttl);
      const [reports, sent] = await Promise.all([
        countReports(tenant, nowMs),
        counters.usedInLastDay(EMAIL_COUNTERS, tenant, resumedAtMs),
      ]);
      const isResumeCounted = lastHours(nowMs).includes(lastHours(resumedAtMs ?? 0)[0] ?? 0);
      const emails = Math.max(0, sent - (isResumeCounted ? (account.emails_before_resume ?? 0) : 0));
      const found = pauseReasonOf({ ...reports, emails });
      if (!found) return undefined;
      const pause: EmailPause = { since_ms: nowMs, reason: found, count: reports[found], emails };
      // A late copy of this write must not pause again what an operator has resumed.
      const { isWritten, existing } = await retryConflicts(() =>
        update(accountKey(tenant), {
          UpdateExpression: 'SET email_paused = :pause',
          ConditionExpression: `attribute_not_exists(email_paused) AND ${resumedAtMs === undefined ? 'attribute_not_exists(email_resumed_at_ms)' : 'email_resumed_at_ms = :resumed'}`,
          ExpressionAttributeValues: { ':pause': pause, ...(resumedAtMs !== undefined && { ':resumed': resumedAtMs }) },
        }),
      );
      if (isWritten) return { pause, isNew: true };
      const { email_paused: earlier } = storedPause.parse(existing ?? {});
      return earlier && { pause: earlier, isNew: false };
    },

    /**
     * Ends the pause of a tenant's emails, and starts the counts anew. Senders send within a minute, when their cache expires.
     *
     * @returns false if its emails are not paused
     * @throws UnconfirmedChangeError
     */
    async resume(tenant: string, audit: Audit): Promise<boolean> {
      const nowMs = clock();
      // What was sent before in this hour does not count either.
      const emailsBefore = await counters.usedInLastDay(EMAIL_COUNTERS, tenant, nowMs);
      const account = {
        Update: {
          TableName: table,
          Key: accountKey(tenant),
          UpdateExpression: 'SET email_resumed_at_ms = :now, emails_before_resume = :emails REMOVE email_paused',
          ConditionExpression: 'attribute_exists(email_paused)',
          ExpressionAttributeValues: { ':now': nowMs, ':emails': emailsBefore },
        },
      };
      const deletes = [nowMs, nowMs - DAY_MS].map((timeMs) => ({
        Delete: { TableName: table, Key: reportsKey(tenant, timeMs) },
      }));
      const entry = audit({ action: 'update-account', target_id: tenant, changed: ['email_paused'] });
      try {
        await transact(client, [account, ...deletes, entry]);
        return true;
      } catch (error) {
        if (error instanceof FailedConditionsError) return false;
        throw error;
      }
    },
  };
};

/** The reputation of tenants as senders of email. */
export type EmailReputation = ReturnType<typeof createEmailReputation>;
