import * as z from 'zod';
import { type AlarmEvent, alarmStates, tenantId } from '../../shared/contracts/alarm-event.ts';
import { MAX_EVENT_ID_LENGTH } from '../../shared/contracts/redelivery.ts';
import { text } from './common-schemas.ts';
import { EXAMPLE_EVENT_ID, EXAMPLE_TIME_MS } from './examples.ts';

const state = z.enum(alarmStates).describe('State of the alarm');
/** A field that the service forwards without validating it. */
const forwarded = (meaning: string) => z.unknown().optional().describe(`${meaning}, as the producer sent it`);
const identified = z.string().min(1);

/** The schema of the body of a webhook. */
export const webhookPayload = z
  .object({
    event_id: text(MAX_EVENT_ID_LENGTH).describe('ID of the event, unique in the account'),
    log_entry_id: z.unknown().describe('ID of the log entry, as the producer sent it; null if it sent none'),
    details: z
      .looseObject({
        state,
        status: forwarded('Text that explains the state'),
        timestamp: forwarded('When the state changed, in milliseconds since the Unix epoch'),
        target: forwarded('What was measured'),
        metrics: forwarded('The measured values by name, each with `type`, `data` and `unit`'),
        txnid: forwarded('ID of the measurement'),
        collector_address_v4: forwarded('IPv4 address of the collector'),
        collector_address_v6: forwarded('IPv6 address of the collector'),
        observations: forwarded('The state in each monitoring zone'),
      })
      .describe('The measurement. Only `state` is validated; other fields are forwarded unchanged'),
    entity: z
      .looseObject({ id: identified.describe('ID of the entity'), label: forwarded('Name of the entity') })
      .describe('The entity that caused the alert, as the producer sent it'),
    check: z.unknown().describe('The check that caused the alert, as the producer sent it; null if it sent none'),
    alarm: z
      .looseObject({ id: identified.describe('ID of the alarm'), label: forwarded('Name of the alarm') })
      .describe('The alarm that caused the alert, as the producer sent it'),
    tenant_id: tenantId.check(z.describe('The account')),
  })
  .describe('The body of a webhook. It always has these seven fields');

/** The alarm event that the example of a webhook delivers. */
export const exampleEvent: AlarmEvent = {
  event_id: EXAMPLE_EVENT_ID,
  log_entry_id: '7c8ad2f0-b0a4-11f1-8f2e-9c6f00f3a4d1',
  tenant_id: 'acme',
  details: {
    target: '/dev/xvda1',
    timestamp: EXAMPLE_TIME_MS,
    metrics: {
      used_percent: { type: 'n', data: 97.2, unit: 'percent' },
      free: { type: 'L', data: 1_181_116_006, unit: 'bytes' },
    },
    state: 'CRITICAL',
    status: 'Disk is 97 % full',
    txnid: '4b1c7a92',
    collector_address_v4: '192.0.2.10',
    collector_address_v6: '2001:db8::10',
    observations: [
      {
        monitoring_zone_id: 'mzLON',
        state: 'CRITICAL',
        status: 'Disk is 97 % full',
        timestamp: EXAMPLE_TIME_MS,
        collector_state: 'UP',
      },
    ],
  },
  entity: { id: 'enWeb1', label: 'web-1', ip_addresses: { default: '192.0.2.2' }, metadata: { role: 'web' } },
  check: { id: 'chDisk', label: 'Root disk', type: 'agent.filesystem', period: 60, timeout: 30 },
  alarm: {
    id: 'alDisk',
    label: 'Disk space',
    check_id: 'chDisk',
    entity_id: 'enWeb1',
    criteria: "if (metric['used_percent'] > 95) { return CRITICAL }",
    notification_plan_id: 'npOps',
  },
};
