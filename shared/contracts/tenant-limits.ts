/** The names of settings, which operators override for one tenant with `ops account limits`. */
export const limitNames = [
  'notificationsPerTenant',
  'testsPerTenantPerDay',
  'redeliveriesPerTenantPerDay',
  'emailsPerTenantPerDay',
  'smsPerTenantPerDay',
  'managedPerTenantPerDay',
] as const;
export type LimitName = (typeof limitNames)[number];

export type TenantLimits = Readonly<Record<LimitName, number>>;

export const isLimitName = (text: string): text is LimitName => limitNames.some((name) => name === text);

export const minimumLimit = (name: LimitName): number => (name === 'notificationsPerTenant' ? 1 : 0);

export const effectiveLimits = (settings: TenantLimits, overrides: Partial<TenantLimits> = {}): TenantLimits => ({
  ...settings,
  ...overrides,
});
