import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Clock } from 'local-aws/clock.ts';
import type { Queue } from 'local-aws/sqs/queue.ts';
import { moveMessages } from '../../../bin/ops/redrive.ts';
import { createAccountAdministration } from '../../../shared/adapters/accounts/account-administration.ts';
import { createAuditLog } from '../../../shared/adapters/audits/audit-log.ts';
import { documentOptions } from '../../../shared/adapters/dynamodb/items.ts';
import { createTokenRepository } from '../../../shared/adapters/tokens/token-repository.ts';
import { OPERATOR } from '../../../shared/contracts/token.ts';
import type { SimulatedStack } from '../engine/stack.ts';
import { type PlannedTenant, timeZoneOf } from './scenario.ts';

const CLIENT = {
  region: 'us-east-1',
  endpoint: 'http://aws.test',
  credentials: { accessKeyId: 'operator', secretAccessKey: 'operator' },
};

/** A message in a dead-letter queue. */
export type DeadLetter = { body: string; reason: string | undefined };

export const lettersIn = ({ messages }: Queue): DeadLetter[] =>
  messages.map(({ body, attributes }) => ({ body, reason: attributes.get('reason')?.value.toString() }));

/** Creates what operators do, with the parts of `bin/ops`. It must run in the context of the world: calls are answered at once. */
export const createOperators = ({ plan, queues, time }: Pick<SimulatedStack, 'plan' | 'queues'> & { time: Clock }) => {
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient(CLIENT), documentOptions);
  const accounts = createAccountAdministration(documents, plan.output('AccountsTable'));
  const log = createAuditLog(documents, {
    AUDITS_TABLE: plan.output('AuditsTable'),
    AUDIT_RETENTION_DAYS: Number(plan.output('AuditRetentionDays')),
  });
  const tokens = createTokenRepository(documents, plan.output('TokensTable'));
  const sqs = new SQSClient(CLIENT);
  const auditOf = (tenant: string) =>
    log.by({ tenant, context: { actor: { type: 'operator', principal: 'simulation' } } });

  return {
    /** Returns the first token of an account. */
    async issueToken(tenant: string): Promise<string> {
      const grant = {
        tenant,
        role: 'admin' as const,
        label: 'simulation',
        expiresInSeconds: 30 * 86_400,
        issuer: OPERATOR,
      };
      return (await tokens.issue(grant, auditOf(tenant))).token;
    },

    /** Sets the limits, contacts, fallback notification, summaries and time zone of an account. */
    async setUp(tenant: PlannedTenant, fallbackId: string | undefined): Promise<void> {
      const { name, limits, contacts, summaries } = tenant;
      if (Object.keys(limits).length > 0) await accounts.changeLimits(name, limits, auditOf(name));
      await accounts.update(
        name,
        {
          technical_contacts: contacts.map(({ address }) => address),
          ...(fallbackId !== undefined && { escalation_notifications: [fallbackId] }),
          ...(summaries && { summaries }),
          time_zone: timeZoneOf(tenant),
        },
        auditOf(name),
      );
    },

    async limit(tenant: string, limits: PlannedTenant['limits']): Promise<void> {
      await accounts.changeLimits(tenant, limits, auditOf(tenant));
    },

    /** Turns on shadow mode from now on for a time in ms. */
    async shadow(tenant: string, lengthMs: number): Promise<void> {
      const nowMs = time.now();
      await accounts.setShadow(tenant, { from_ms: nowMs, until_ms: nowMs + lengthMs }, auditOf(tenant));
    },

    /** Moves the dead letters of all senders to their queues. @returns them by the name of their queue */
    async redrive(): Promise<Map<string, DeadLetter[]>> {
      const moved = new Map<string, DeadLetter[]>();
      for (const [name, queue] of queues) {
        const target = queues.get(name.replace(/DeadLetters$/, 'Queue'));
        if (!name.endsWith('-DeadLetters') || name.includes('AlarmEvents') || queue.messages.length === 0) continue;
        moved.set(name, lettersIn(queue));
        // What SQS does not accept stays.
        await moveMessages(sqs, queue.settings.url, () => target?.settings.url).catch(() => undefined);
      }
      return moved;
    },
  };
};
