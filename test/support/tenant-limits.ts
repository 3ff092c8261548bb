import type { TenantLimits } from '../../shared/contracts/tenant-limits.ts';

/** The limits of a deployment, each with another value. */
export const tenantLimits: TenantLimits = {
  notificationsPerTenant: 1,
  testsPerTenantPerDay: 2,
  redeliveriesPerTenantPerDay: 3,
  emailsPerTenantPerDay: 4,
  smsPerTenantPerDay: 5,
  managedPerTenantPerDay: 6,
};
