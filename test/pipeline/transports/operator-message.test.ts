import { describe, expect, it } from 'vitest';
import type { AlarmEvent } from '../../../shared/contracts/alarm-event.ts';
import { operatorMessage } from '../../../shared/pipeline/transports/managed.ts';
import { alarmEvent, alertContent, EXACT_NUMBERS, exactContent } from '../../support/events.ts';

const messageOf = (changes: Partial<AlarmEvent> = {}) => {
  const { event, payload } = alertContent(alarmEvent(changes));
  return operatorMessage({ event, payload });
};

describe('the message to operators', () => {
  it('contains the tenant, the facts and the webhook payload, in this order', () => {
    const { text } = operatorMessage(exactContent);
    expect(text).toMatch(/^Tenant: acme\n\[CRITICAL\] web-1: Disk space\nState: CRITICAL/);
    expect(text.split('\n').at(-1)).toBe(exactContent.payload);
    expect(text).toContain(EXACT_NUMBERS);
  });

  it('has a subject of fewer than 100 characters without control characters, as SNS requires', () => {
    expect(messageOf().subject).toBe('acme [CRITICAL] web-1: Disk space');
    expect(messageOf({ entity: { id: 'Größe\r\n😀' } }).subject).toBe('acme [CRITICAL] Größe 😀: Disk space');
    const { subject } = messageOf({ tenant_id: '~'.repeat(60), entity: { id: 'e', label: '😀'.repeat(50) } });
    expect(subject.length).toBeLessThan(100);
    expect(subject).toMatch(/^~{60} \[CRITICAL\] 😀+\.\.\.$/u);
    expect(messageOf({ tenant_id: '~'.repeat(128) }).subject).toHaveLength(99);
  });

  it('omits a payload that is too large', () => {
    const { text } = messageOf({ check: { body: 'x'.repeat(220_000) } });
    expect(Buffer.byteLength(text)).toBeLessThan(10_000);
    expect(text).toContain('Status: Disk is full');
  });

  it('stays below the SNS limit of 256 KB for the largest event', () => {
    const long = '😀'.repeat(200_000);
    const { text } = messageOf({
      details: { state: 'OK', status: long, target: long, metrics: { [long]: { data: long, unit: long } } },
      entity: { id: long },
      alarm: { id: long },
    });
    expect(Buffer.byteLength(text)).toBeLessThan(256 * 1_024);
  });
});
