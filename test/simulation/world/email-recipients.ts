import { integer, type Random } from '../engine/random.ts';
import { notificationsOf, type PersonAction, type Phase, type PlannedTenant } from './scenario.ts';

/*
 * Recipients of emails whose addresses bounce, always or for a time, who complain, or who stop and resume the emails: those
 * of notifications, technical contacts, and fallback notifications.
 */

/** Returns the phases of an address whose emails bounce, or whose recipient complains. */
const unwantedPhases = (recoveryMs: number, random: Random): Phase[] => {
  const fromMs = random() < 0.5 ? 0 : integer(1, recoveryMs, random);
  const untilMs = random() < 0.4 ? [] : [integer(fromMs + 1, Math.round(recoveryMs * 1.2) + 1, random)];
  return [
    ...(fromMs > 0 ? [{ fromMs: 0, behavior: 'accept' } as const] : []),
    { fromMs, behavior: random() < 0.85 ? 'accept-and-bounce' : 'accept-and-complain' },
    ...untilMs.map((ms): Phase => ({ fromMs: ms, behavior: 'accept' })),
  ];
};

/** Returns a tenant some of whose recipients get no emails, or want none. */
export const withUnwantedEmails = (tenant: PlannedTenant, recoveryMs: number, random: Random): PlannedTenant => {
  const unwanted = <Recipient extends { phases: readonly Phase[] }>(recipient: Recipient): Recipient =>
    random() < 0.1 ? { ...recipient, phases: unwantedPhases(recoveryMs, random) } : recipient;
  if (tenant.kind !== 'ordinary') return tenant;
  return {
    ...tenant,
    notifications: tenant.notifications.map((each) => (each.type === 'email' ? unwanted(each) : each)),
    contacts: tenant.contacts.map(unwanted),
    fallback: tenant.fallback?.type === 'email' ? unwanted(tenant.fallback) : tenant.fallback,
  };
};

/** Returns changes of the contacts of accounts, which get them all back, and of where their escalations go. */
export const accountActionsOf = (
  tenants: readonly PlannedTenant[],
  recoveryMs: number,
  random: Random,
): PersonAction[] =>
  tenants
    .filter(({ kind }) => kind === 'ordinary')
    .flatMap(({ name: tenant, contacts, fallback }) => {
      const addresses = contacts.map(({ address }) => address);
      const anyTime = (): number => Math.round(random() * recoveryMs);
      const removedMs = anyTime();
      const contactActions: PersonAction[] = [
        { kind: 'contacts', atMs: removedMs, tenant, addresses: addresses.slice(integer(1, 2, random)) },
        { kind: 'contacts', atMs: removedMs + integer(1, recoveryMs, random), tenant, addresses },
      ];
      const fallbackAction: PersonAction = {
        kind: 'fallback',
        atMs: anyTime(),
        tenant,
        fallback: random() < 0.5 ? undefined : fallback?.index,
      };
      return [
        ...(addresses.length > 0 && random() < 0.1 ? contactActions : []),
        ...(fallback && random() < 0.1 ? [fallbackAction] : []),
      ];
    });

/** Returns what recipients of the emails of tenants do on the page of their links. */
export const recipientActionsOf = (
  tenants: readonly PlannedTenant[],
  recoveryMs: number,
  random: Random,
): PersonAction[] =>
  tenants.flatMap((tenant) => {
    const keys = notificationsOf(tenant).flatMap(({ type, key }) => (type === 'email' ? key : []));
    return [...keys, ...tenant.contacts.map(({ address }) => address)]
      .filter(() => random() < 0.12)
      .flatMap((to) =>
        Array.from({ length: integer(1, 4, random) }, (): PersonAction => {
          const kind = random() < 0.6 ? 'opt-out' : 'undo-opt-out';
          return { kind, atMs: integer(0, Math.round(recoveryMs * 1.2), random), tenant: tenant.name, to };
        }),
      );
  });
