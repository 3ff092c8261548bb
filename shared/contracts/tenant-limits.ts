/**
 * The limits of a tenant, by the names of their settings. Operators override a setting for one tenant with
 * `ops account limits`.
 */
export const limitNames = [
  'notificationsPerTenant',
  'testsPerTenantPerDay',
  'redeliveriesPerTenantPerDay',
  'emailsPerTenantPerDay',
  'smsPerTenantPerDay',
  'managedPerTenantPerDay',
] as const;
export type LimitName = (typeof limitNames)[number];

/** A number for each limit. */
export type TenantLimits = Readonly<Record<LimitName, number>>;

/** Returns whether a text is the name of a limit. */
export const isLimitName = (text: string): text is LimitName => limitNames.some((name) => name === text);

/** Returns the smallest value of a limit. */
export const minimumLimit = (name: LimitName): number => (name === 'notificationsPerTenant' ? 1 : 0);

/** Returns the limits of a tenant: its overrides, and the settings of the deployment for the others. */
export const effectiveLimits = (settings: TenantLimits, overrides: Partial<TenantLimits> = {}): TenantLimits => ({
  ...settings,
  ...overrides,
});
