import { limitNames } from '../shared/contracts/tenant-limits.ts';
import { ResourceAccess } from './resource-access.ts';
import type { Settings } from './settings.ts';

/** Returns the limits of a deployment as JSON. */
export const tenantLimitsJson = (settings: Settings): string =>
  JSON.stringify(Object.fromEntries(limitNames.map((name) => [name, settings[name]])));

/** Returns the environment variable with the limits of a deployment. */
export const tenantLimitsOf = (settings: Settings): ResourceAccess<{ TENANT_LIMITS: string }> =>
  new ResourceAccess({ TENANT_LIMITS: tenantLimitsJson(settings) });
