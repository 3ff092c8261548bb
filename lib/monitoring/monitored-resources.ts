import type { Api } from '../api.ts';
import type { Delivery } from '../delivery.ts';
import type { EmailEvents } from '../email-events.ts';

/** The constructs that the alarms and the dashboard cover. */
export type MonitoredResources = { api: Api; delivery: Delivery; emailEvents: EmailEvents };
