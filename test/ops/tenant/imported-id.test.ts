import { describe, expect, it } from 'vitest';
import { importedId } from '../../../bin/ops/tenant/import.ts';
import { isStoredNotificationId, newNotificationId } from '../../../shared/domain/notification-id.ts';

describe('the ID of an imported notification', () => {
  it('is always the same for a tenant and an old ID, and no other', () => {
    const ids = [importedId('acme', 'nt1'), importedId('acme', 'nt2'), importedId('globex', 'nt1')];
    expect(new Set(ids).size).toBe(3);
    // It never changes: an import of another release must find what an earlier one created.
    expect(ids[0]).toBe('nt0000000000KSPVC9RG5JBBHM88');
  });

  it('is an ID of this service that sorts before those of new notifications', () => {
    const id = importedId('acme', 'ö#/../\n');
    expect(isStoredNotificationId(id)).toBe(true);
    expect(id < newNotificationId()).toBe(true);
  });

  it('is the old one if that is an ID of this service, so that plans remain valid', () => {
    for (const id of [newNotificationId(), 'ntTechnicalContactsEmail']) expect(importedId('acme', id)).toBe(id);
  });
});
