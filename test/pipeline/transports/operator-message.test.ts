import { describe, expect, it } from 'vitest';
import { operatorMessage } from '../../../shared/pipeline/transports/operator-message.ts';
import { alarmEvent } from '../../support/events.ts';

describe('the message to operators', () => {
  it('contains the tenant, the facts and the webhook payload, in this order', () => {
    const { text } = operatorMessage(alarmEvent());
    expect(text).toMatch(/^Tenant: acme\n\[CRITICAL\] web-1: Disk space\nState: CRITICAL/);
    expect(JSON.parse(text.split('\n').at(-1) ?? '')).toMatchObject({ tenant_id: 'acme', check: { id: 'chCCCC' } });
  });

  it('has a subject of fewer than 100 printable ASCII characters, as SNS requires', () => {
    expect(operatorMessage(alarmEvent()).subject).toBe('acme [CRITICAL] web-1: Disk space');
    const event = alarmEvent({ tenant_id: '~'.repeat(128), entity: { id: 'e', label: 'Größe\r\n😀'.repeat(50) } });
    expect(operatorMessage(event).subject).toMatch(/^[\x21-\x7e][\x20-\x7e]{0,98}$/);
    expect(operatorMessage(alarmEvent({ entity: { id: 'Größe' } })).subject).toMatch(/^[\x20-\x7e]+$/);
  });

  it('omits a payload that is too large', () => {
    const { text } = operatorMessage(alarmEvent({ check: { body: 'x'.repeat(300_000) } }));
    expect(Buffer.byteLength(text)).toBeLessThan(10_000);
    expect(text).toContain('Status: Disk is full');
  });

  it('stays below the SNS limit of 256 KB for the largest event', () => {
    const long = '😀'.repeat(200_000);
    const event = alarmEvent({
      details: { state: 'OK', status: long, target: long, metrics: { [long]: { data: long, unit: long } } },
      entity: { id: long },
      alarm: { id: long },
    });
    expect(Buffer.byteLength(operatorMessage(event).text)).toBeLessThan(256 * 1_024);
  });
});
