import { describe, expect, it } from 'vitest';
import { operatorMessage } from '../../shared/domain/operator-message.ts';
import { alarmEvent } from '../support/events.ts';

describe('what operators are told', () => {
  it('names the tenant first, then what happened, and the whole payload last', () => {
    const { text } = operatorMessage(alarmEvent());
    expect(text).toMatch(/^Tenant: acme\n\[CRITICAL\] web-1: Disk space\nState: CRITICAL/);
    expect(JSON.parse(text.split('\n').at(-1) ?? '')).toMatchObject({ tenant_id: 'acme', check: { id: 'chCCCC' } });
  });

  it('has a subject that SNS takes: less than 100 printable ASCII characters', () => {
    expect(operatorMessage(alarmEvent()).subject).toBe('acme [CRITICAL] web-1: Disk space');
    const event = alarmEvent({ tenant_id: '~'.repeat(128), entity: { id: 'e', label: 'Größe\r\n😀'.repeat(50) } });
    expect(operatorMessage(event).subject).toMatch(/^[\x21-\x7e][\x20-\x7e]{0,98}$/);
    expect(operatorMessage(alarmEvent({ entity: { id: 'Größe' } })).subject).toMatch(/^[\x20-\x7e]+$/);
  });

  it('leaves out a payload that is too large, and still says what happened', () => {
    const { text } = operatorMessage(alarmEvent({ check: { body: 'x'.repeat(300_000) } }));
    expect(Buffer.byteLength(text)).toBeLessThan(10_000);
    expect(text).toContain('Status: Disk is full');
  });

  it('is less than SNS takes, however long the texts of the event are', () => {
    const long = '😀'.repeat(200_000);
    const event = alarmEvent({
      details: { state: 'OK', status: long, target: long, metrics: { [long]: { data: long, unit: long } } },
      entity: { id: long },
      alarm: { id: long },
    });
    expect(Buffer.byteLength(operatorMessage(event).text)).toBeLessThan(256 * 1_024);
  });
});
