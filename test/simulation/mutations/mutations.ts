import { apiMutations } from './api.ts';
import { deliveryMutations } from './deliveries.ts';
import { dispatchMutations } from './dispatch.ts';
import { emailMutations } from './emails.ts';
import { incidentMutations } from './incidents.ts';
import { limitMutations } from './limits.ts';
import type { NamedMutation } from './named-mutation.ts';
import { noticeMutations } from './notices.ts';
import { outcomeMutations } from './outcomes.ts';
import { summaryMutations } from './summaries.ts';
import { tenantMutations } from './tenants.ts';

/** The defects that the simulation must find. */
export const mutations: readonly NamedMutation[] = [
  ...deliveryMutations,
  ...incidentMutations,
  ...dispatchMutations,
  ...summaryMutations,
  ...emailMutations,
  ...limitMutations,
  ...noticeMutations,
  ...outcomeMutations,
  ...tenantMutations,
  ...apiMutations,
];
