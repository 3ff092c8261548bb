import type { Api } from '../api.ts';
import type { Delivery, Sender } from '../delivery.ts';
import type { DeliveryOutcomes } from '../delivery-outcomes.ts';
import type { EmailEvents } from '../email-events.ts';

/** A sender of any type. */
export type MonitoredSender = Omit<Sender, 'type'> & { type: string };

/** The constructs that the alarms and the dashboard cover. */
export type MonitoredResources = {
  api: Api;
  delivery: Pick<Delivery, 'alarmEvents' | 'dispatch' | 'crashedQueue'> & { senders: readonly MonitoredSender[] };
  emailEvents: EmailEvents;
  /** Undefined without the setting `deliveryOutcomes`. */
  outcomes: DeliveryOutcomes | undefined;
};
